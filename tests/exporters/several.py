"""Exporters with several faults of few rules, for tests of what is reported, known, new and gone. A test sets
``FAULTS`` in the environment to the names of those that it wants, separated by commas."""

import os
import time

FAULTS = os.environ.get("FAULTS", "").split(",")
# A library that takes long to load makes every confirmation long.
time.sleep(float(os.environ.get("LOADING", "0")))
OTHERS = ["copy", "max_version", "stream"]
ERRORS = [ValueError, KeyError, IndexError, OSError, ArithmeticError, AttributeError, ImportError, NameError]


class Exporter:
    def __init__(self, description):
        self.x = description.numpy

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, **keywords):
        device = keywords.get("dl_device")
        if isinstance(device, tuple) and device[:1] == (2,):
            # EXC-DEVICE: a device that cannot be had raises BufferError.
            if "runtime-copy" in FAULTS and keywords.get("copy") is True:
                raise RuntimeError(device)
            if "value" in FAULTS or "value-float32" in FAULTS and self.x.dtype == "float32":
                raise ValueError(device)
            if "many" in FAULTS:
                raise ERRORS[sum(2**place for place, name in enumerate(OTHERS) if name in keywords)](device)
        if "list" in FAULTS and self.x.ndim == 3:
            return [1]
        if self.x.dtype.itemsize == 0:
            raise BufferError("NumPy would divide by zero")
        return self.x.__dlpack__(**keywords)
