"""cuda.core without a GPU: views of the host's memory with any strides, and the buffers under them."""

import ctypes

import cuda.core
import numpy as np

VERSIONS = [("cuda-core", cuda.core.__version__), ("numpy", np.__version__)]
CLAIMS = None
MUTABLE = True
HAS_READONLY = True
PYTHON_DESTRUCTOR = False
MAX_NDIM = 64

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "float32", "float64", "complex64", "complex128"]
# Views of these are made, and cannot leave.
REFUSABLE = {"longdouble": "no IEEE type", "datetime64": "no number", "timedelta64": "no number", "record": "no number"}
DTYPES += list(REFUSABLE)
SWAPPED = True
OBJECTS = ["imported", "buffer", "opaque-layout", "deleted"]

# A buffer asks the driver where its memory is, unless its resource says it.
HOST = """import ctypes, cuda.core, numpy as np
from cuda.core.utils import StridedMemoryView
class Host(cuda.core.MemoryResource):
    is_host_accessible, is_device_accessible, is_managed, device_id = True, False, False, -1
    def __init__(self, block):
        self.block = block
        self.address = ctypes.addressof((ctypes.c_char * len(block)).from_buffer(block)) if block else 0
    def allocate(self, size, *, stream=None):
        return cuda.core.Buffer.from_handle(self.address, size, mr=self)
    def deallocate(self, address, size, *, stream=None):
        pass
"""


def statements(d):
    if any(stride % d.itemsize for stride in d.strides) or d.offset % d.itemsize:
        raise Inexpressible("cuda.core counts in elements")
    if d.object == "imported":
        if d.byteorder == "swapped" or d.dtype in REFUSABLE:
            raise Inexpressible("no such array can be imported")
        # -1: there is no stream to wait for.
        return d.statements + "from cuda.core.utils import StridedMemoryView\nx = StridedMemoryView.from_dlpack(x, -1)\n"
    dtype, read_only = numpy_dtype(d), not d.writable
    lines = [HOST + "buffer = Host(block).allocate(len(block))"]
    if d.object == "buffer":
        if d.dtype != "int8" or len(d.shape) != 1 or d.order != "C" or read_only:
            raise Inexpressible("a buffer is bytes in a row")
        return lines[0] + "\nx = buffer\n"
    strides = tuple(stride // d.itemsize for stride in d.strides)
    if any(stride < 0 for stride in strides) or d.offset:
        # A buffer begins with the first element of its views; only what is imported reaches back.
        raise Inexpressible("cuda.core's own views begin where their buffer does")
    what = f"itemsize={d.itemsize}" if d.object == "opaque-layout" else f"dtype=np.dtype({dtype!r})"
    lines += [f"x = StridedMemoryView.from_buffer(buffer, {d.shape}, {strides}, {what}, is_readonly={read_only})"]
    if d.object == "deleted":
        lines += ["buffer.close()"]
    return "\n".join(lines) + "\n"


def numpy_dtype(d):
    named = {"record": "i4,f8", "datetime64": "M8[s]", "timedelta64": "m8[s]"}.get(d.dtype, d.dtype)
    return np.dtype(named).newbyteorder(">").str if d.byteorder == "swapped" else named


def facts(x, d):
    exportable = REFUSABLE.get(d.dtype, True)
    if d.byteorder == "swapped":
        exportable = "bytes in the other order"
    if d.object == "opaque-layout":
        exportable = "of no type"
    if d.object == "deleted":
        exportable = "its buffer was given back"
    said = {"writable": d.writable, "exportable": exportable, "shape": d.shape, "strides": d.strides}
    if d.memory:
        start = ctypes.addressof((ctypes.c_char * len(d.memory)).from_buffer(d.memory))
        if d.object == "imported":
            said.update(address=x.ptr)
        else:
            said.update(address=start + d.offset, allocation=(start, start + len(d.memory)))
    return said


def view(d):
    if d.object == "buffer":
        return "def source_view():\n    return int(x.handle), (x.size,), (1,), 1\n\ndef allocation():\n    return bounds(source_view())\n"
    return f"""def source_view():
    strides = x.strides
    if strides is None:
        strides = [1]
        for extent in reversed(x.shape[1:]):
            strides.insert(0, strides[0] * max(extent, 1))
    return x.ptr, tuple(x.shape), tuple({d.itemsize} * step for step in strides[: len(x.shape)]), {d.itemsize}

def allocation():
    return bounds(source_view())
"""
