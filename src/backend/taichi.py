"""Quadrants and GsTaichi, two libraries that came of Taichi: compact arrays on the CPU.

They have a method `to_dlpack` in place of the protocol. The two methods that their arrays get here are this
script's own: what these do with arguments says nothing about the libraries, the struct and its release say all.
Fields are left out: the export of a field imports torch.
"""

import ctypes
import os

os.environ.setdefault("ENABLE_QUADRANTS_HEADER_PRINT", "0")
os.environ.setdefault("ENABLE_GSTAICHI_HEADER_PRINT", "0")

try:
    import quadrants as library
except ImportError:
    import gstaichi as library

NAME = library.__name__
VERSIONS = [(NAME, ".".join(map(str, library.__version__)))]
CLAIMS = None
MUTABLE = True
HAS_READONLY = False
PYTHON_DESTRUCTOR = False
MAX_NDIM = 12

NAMES = {
    "bool": "u1",
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"f{bits}" for bits in (16, 32, 64)},
}
DTYPES = list(NAMES)
EXPORTED = ["bool", "int32", "int64", "float32", "float64"]
IS_VERSIONED = NAME == "quadrants"
OBJECTS = ["vectors", "requires-grad"] + (["transposed"] if IS_VERSIONED else [])

START = f"""import ctypes, {NAME} as library
from {NAME}.lang import impl
if impl.get_runtime()._prog is None:
    library.init(arch=library.cpu, offline_cache=False, cpu_max_num_threads=1, log_level=library.CRITICAL)
"""
exec(START)

EXPORT = """def export(self, *, stream=None):
    if stream is not None: raise BufferError("there are no streams here")
    return self.to_dlpack()
"""
if IS_VERSIONED:
    EXPORT = """def export(self, *, stream=None, max_version=None):
    if stream is not None: raise BufferError("there are no streams here")
    return self.to_dlpack(versioned=max_version is not None and max_version[0] >= 1)
"""


def statements(d):
    if d.order != "C" or not d.memory:
        raise Inexpressible(f"{NAME}'s arrays are compact and have elements")
    if not d.writable:
        raise Inexpressible(f"{NAME} has no read-only arrays")
    dtype = f"library.{NAMES[d.dtype]}"
    shape = d.shape
    if d.object == "vectors":
        if not shape or not 1 <= shape[-1] <= 32:
            raise Inexpressible("the last axis is that of a vector")
        make = f"library.Vector.ndarray({shape[-1]}, {dtype}, shape={shape[:-1]})"
    elif d.object == "transposed":
        if len(shape) < 2:
            raise Inexpressible("there are no axes to exchange")
        layout = tuple(reversed(range(len(shape))))
        make = f"library.tensor({dtype}, shape={shape}, backend=library.Backend.NDARRAY, layout={layout})._impl"
    elif d.object == "requires-grad":
        if d.dtype not in ("float32", "float64"):
            raise Inexpressible(f"nothing of {d.dtype} is differentiated")
        make = f"library.ndarray({dtype}, {shape}, needs_grad=True)"
    elif d.object == "array":
        make = f"library.ndarray({dtype}, {shape})"
    else:
        raise Inexpressible(f"{NAME} has no {d.object}")
    return f"""{START}x = {make}
address = impl.get_runtime().prog.get_ndarray_data_ptr_as_int(x.arr)
ctypes.memmove(address, (ctypes.c_char * len(block)).from_buffer(block), len(block))
{EXPORT}
type(x).__dlpack__, type(x).__dlpack_device__ = export, lambda self: (1, 0)
"""


def facts(x, d):
    exportable = True if d.dtype in EXPORTED else f"{NAME} has no name for it in a capsule"
    address = impl.get_runtime().prog.get_ndarray_data_ptr_as_int(x.arr)
    return {"writable": None, "exportable": exportable, "shape": d.shape, "strides": steps(d), "address": address}


def steps(d):
    if d.object != "transposed":
        return d.strides
    strides, step = [], d.itemsize
    for extent in d.shape:
        strides.append(step)
        step *= extent
    return tuple(strides)


def view(d):
    return f"""def source_view():
    return address, {d.shape}, {steps(d)}, {d.itemsize}

def allocation():
    return bounds(source_view())
"""
