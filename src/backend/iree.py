"""IREE on the CPU: views of the buffers of its hardware abstraction layer.

IREE's arrays have no `__dlpack__`; a function of the device makes a capsule of a view and stamps whatever device
the caller names on it. The class that gives it the two methods is this script's own: what it does with `stream`
says nothing about IREE, the struct and its release say all.
"""

import iree.runtime
import numpy as np
from iree.runtime import version

VERSIONS = [("iree-base-runtime", version.VERSION), ("numpy", np.__version__)]
CLAIMS = None
MUTABLE = True
HAS_READONLY = False
PYTHON_DESTRUCTOR = False
# Labels: the memory is the host's.
DEVICES = [(1, 0), (2, 1), (12, 3)]
MAX_NDIM = 32

# By IREE's names for them, and NumPy's for what has as many bytes.
NAMES = {
    "bool": "BOOL_8",
    **{f"int{bits}": f"SINT_{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"UINT_{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"FLOAT_{bits}" for bits in (16, 32, 64)},
    "bfloat16": "BFLOAT_16",
    "complex64": "COMPLEX_64",
    "complex128": "COMPLEX_128",
    "float8_e4m3fn": "FLOAT_8_E4M3_FN",
    "float8_e4m3fnuz": "FLOAT_8_E4M3_FNUZ",
    "float8_e5m2": "FLOAT_8_E5M2",
    "float8_e5m2fnuz": "FLOAT_8_E5M2_FNUZ",
    "float8_e8m0fnu": "FLOAT_8_E8M0_FNU",
    "void": "OPAQUE_8",
}
DTYPES = list(NAMES)
REFUSABLE = [name for name in NAMES if "float8" in name or name == "void"]
OBJECTS = ["imported"]

EXPORTER = """
class Exporter:
    def __init__(self, hal, view, own): self.hal, self.view, self.own = hal, view, own
    def __dlpack_device__(self): return self.own
    def __dlpack__(self, *, stream=None):
        if stream is not None: raise BufferError("there are no streams here")
        return self.hal.create_dlpack_capsule(self.view, *self.own)
"""


def statements(d):
    if d.order != "C":
        raise Inexpressible("IREE's views are compact")
    if not d.writable:
        raise Inexpressible("IREE has no read-only views")
    if d.dtype.startswith("void") and d.itemsize != 1:
        raise Inexpressible("opaque elements are single bytes here")
    dtype = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}[d.itemsize]
    source = f"np.frombuffer(block, {dtype!r})" if d.memory else f"np.zeros({d.shape}, {dtype!r})"
    element = f"rt.HalElementType.{NAMES[d.dtype.partition('[')[0]]}"
    text = f"""import numpy as np, iree.runtime as rt
hal = rt.get_device("local-sync")
view = hal.allocator.allocate_buffer_copy(
    memory_type=rt.MemoryType.DEVICE_LOCAL | rt.MemoryType.HOST_VISIBLE,
    allowed_usage=rt.BufferUsage.DEFAULT | rt.BufferUsage.MAPPING,
    device=hal, buffer={source}.reshape({d.shape}), element_type={element})
"""
    if d.object == "imported":
        text += "view = hal.from_dlpack_capsule(hal.create_dlpack_capsule(view, 1, 0))\n"
    elif d.object != "array":
        raise Inexpressible(f"IREE has no {d.object}")
    return f"{text}{EXPORTER}\nx = Exporter(hal, view, {d.device})\n"


def facts(x, d):
    exportable = "IREE gives no capsule a name for it" if d.dtype.partition("[")[0] in REFUSABLE else True
    said = {"writable": None, "exportable": exportable, "shape": tuple(x.view.shape), "owner": x.view}
    if x.view.byte_length:
        said["address"] = np.frombuffer(x.view.map(), "u1").__array_interface__["data"][0]
    return said


def view(d):
    return f"""def source_view():
    steps = [{d.itemsize}]
    for extent in reversed(x.view.shape[1:]):
        steps.insert(0, steps[0] * max(extent, 1))
    start = np.frombuffer(x.view.map(), "u1").__array_interface__["data"][0]
    return start, tuple(x.view.shape), tuple(steps[: len(x.view.shape)]), {d.itemsize}

def allocation():
    return bounds(source_view())
"""
