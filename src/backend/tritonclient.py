"""Triton's client: tensors over memory that processes share, by their address, compact, on any CUDA device's label."""

import ctypes
from importlib.metadata import version

import tritonclient.utils._shared_memory_tensor

VERSIONS = [("tritonclient", version("tritonclient"))]
CLAIMS = None
MUTABLE = True
HAS_READONLY = False
PYTHON_DESTRUCTOR = True
# A number other than -1 is the label of a CUDA device; the memory is the host's.
DEVICES = [(1, 0), (2, 0), (2, 3)]

NAMES = {
    "bool": "BOOL",
    **{f"int{bits}": f"INT{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"UINT{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"FP{bits}" for bits in (16, 32, 64)},
    "bfloat16": "BF16",
    "bytes": "BYTES",
}
DTYPES = list(NAMES)
OBJECTS = ["slice"]


def statements(d):
    if d.order != "C":
        raise Inexpressible("Triton's tensors are compact")
    if not d.writable:
        raise Inexpressible("Triton has no read-only tensors")
    if d.object not in OBJECTS + ["array"]:
        raise Inexpressible(f"Triton has no {d.object}")
    kind, number = d.device
    text = "import ctypes\nfrom tritonclient.utils._shared_memory_tensor import SharedMemoryTensor\n"
    if d.object == "slice":
        text += "block = bytearray(block) + block\n"
    offset = len(d.memory) if d.object == "slice" else 0
    return text + f"""address = ctypes.addressof((ctypes.c_char * len(block)).from_buffer(block))
x = SharedMemoryTensor({NAMES[d.dtype.partition("[")[0]]!r}, {list(d.shape)}, address, {offset}, {len(d.memory)}, {number if kind == 2 else -1})
x.block = block  # keeps it
"""


def facts(x, d):
    exportable = "no numbers" if d.dtype.startswith("bytes") else True
    said = {"writable": None, "exportable": exportable, "shape": tuple(x._shape)}
    if x.block:
        said["address"] = x._shm_addr + x._offset
    return said


def view(d):
    return f"""def source_view():
    steps = [{d.itemsize}]
    for extent in reversed(x._shape[1:]):
        steps.insert(0, steps[0] * max(extent, 1))
    return x._shm_addr + x._offset, tuple(x._shape), tuple(steps[: len(x._shape)]), {d.itemsize}

def allocation():
    return bounds(source_view())
"""
