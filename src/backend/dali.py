"""NVIDIA DALI on the CPU: compact tensors, and those of its dynamic mode, which hold such a one."""

import numpy as np
import nvidia.dali
from nvidia.dali.tensors import TensorCPU

# The first operator takes seconds to load, which no case is to be blamed for.
import nvidia.dali.experimental.dynamic as ndd

ndd.stack(ndd.tensor(TensorCPU(np.zeros(1))), ndd.tensor(TensorCPU(np.zeros(1)))).evaluate()

VERSIONS = [("nvidia-dali", nvidia.dali.__version__), ("numpy", np.__version__)]
CLAIMS = None
MUTABLE = True
HAS_READONLY = False  # a tensor over read-only memory does not say so in any way
PYTHON_DESTRUCTOR = False

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "float32", "float64"]

DERIVED = {
    "computed": "x = x._make_copy()",
    "imported": "x = TensorCPU(x.__dlpack__())",
    "slice": "from nvidia.dali.tensors import TensorListCPU\nx = TensorListCPU([x, x])[1]",
    # The dynamic mode has a class of its own, which evaluates itself where its elements are asked for.
    "wrapper": "import nvidia.dali.experimental.dynamic as ndd\nx = ndd.tensor(x)",
    "lazy": "import nvidia.dali.experimental.dynamic as ndd\nx = ndd.stack(ndd.tensor(x), ndd.tensor(x))",
}
OBJECTS = ["borrowed", *DERIVED]


def statements(d):
    if d.order != "C":
        raise Inexpressible("DALI's tensors are compact")
    if not d.writable and d.object != "borrowed":
        raise Inexpressible("DALI has no read-only tensors of its own")
    lines = [d.statements + "from nvidia.dali.tensors import TensorCPU", "x = TensorCPU(x)"]
    if d.object not in ("array", "borrowed"):
        if d.object not in DERIVED:
            raise Inexpressible(f"DALI has no {d.object}")
        lines += [DERIVED[d.object]]
    return "\n".join(lines) + "\n"


def facts(x, d):
    said = {"writable": None, "exportable": True, "itemsize": d.itemsize}
    if d.object in ("wrapper", "lazy"):
        x = x.evaluate()._storage
    said["shape"] = tuple(x.shape())
    said["address"] = x.data_ptr()
    return said


def view(d):
    inner = "x.evaluate()._storage" if d.object in ("wrapper", "lazy") else "x"
    return f"""def source_view():
    tensor, steps = {inner}, [{d.itemsize}]
    for extent in reversed(tensor.shape()[1:]):
        steps.insert(0, steps[0] * max(extent, 1))
    return tensor.data_ptr(), tuple(tensor.shape()), tuple(steps[: len(tensor.shape())]), {d.itemsize}

def allocation():
    return bounds(source_view())
"""
