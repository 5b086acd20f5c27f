"""NVIDIA Warp on the CPU: arrays of up to four axes over any memory, with strides in bytes, and arrays of vectors."""

import ctypes
import os

os.environ.setdefault("WARP_CACHE_PATH", os.path.join(os.path.expanduser("~"), ".cache", "warp"))

import warp as wp

wp.config.quiet = True
wp.init()

VERSIONS = [("warp-lang", wp.config.version)]
CLAIMS = None
MUTABLE = True
HAS_READONLY = False  # an array over read-only memory does not know it
PYTHON_DESTRUCTOR = True
MAX_NDIM = 4

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += [name for name in ("float16", "bfloat16", "float32", "float64") if hasattr(wp, name)]

DERIVED = {
    "slice": "x = x[1:] if x.shape[0] > 1 else x",
    "transposed": "x = x.transpose()",
    "computed": "x = wp.clone(x)",
    "requires-grad": "x.requires_grad = True",
    "imported": "x = wp.from_dlpack(x)",
}
OBJECTS = [*DERIVED, "vectors", "recarray"]
FLOATING = ["float16", "float32", "float64"]


def statements(d):
    kind, strides = f"wp.{d.dtype}", d.strides
    if not d.shape:
        raise Inexpressible("Warp's arrays have an axis")
    if not d.writable:
        raise Inexpressible("Warp has no read-only arrays")
    lines = ["import ctypes, warp as wp", "wp.config.quiet = True"]
    shape = d.shape
    if d.object == "vectors":
        # Pairs along the last axis.
        if len(shape) < 2 or shape[-1] != 2 or strides[-1] != d.itemsize:
            raise Inexpressible("pairs only")
        shape, strides, kind = shape[:-1], strides[:-1], f"wp.types.vector(2, {kind})"
    if d.object == "requires-grad" and d.dtype not in FLOATING:
        raise Inexpressible(f"nothing of {d.dtype} is differentiated")
    if d.object == "recarray":
        if d.dtype != "float32" or d.order != "C":
            raise Inexpressible("a record has no dtype of its own")
        lines += ["class Record: pass", "Record.__annotations__ = {'a': wp.float32, 'b': wp.int8}"]
        lines += [f"x = wp.zeros({shape}, dtype=wp.struct(Record), device='cpu')"]
    elif not d.memory:
        if d.order != "C":
            raise Inexpressible("Warp lays out empty arrays as it likes")
        lines += [f"x = wp.zeros({shape}, dtype={kind}, device='cpu')"]
    else:
        lines += [f"address = ctypes.addressof((ctypes.c_char * len(block)).from_buffer(block)) + {d.offset}"]
        # A deleter that does nothing keeps the memory.
        keep = "deleter=lambda address, size, block=block: None"
        where = f"ptr=address, shape={shape}, strides={strides}"
        lines += [f"x = wp.array({where}, dtype={kind}, device='cpu', copy=False, {keep})"]
    if d.object not in ("array", "vectors", "recarray"):
        if d.object not in DERIVED:
            raise Inexpressible(f"Warp has no {d.object}")
        # An export of them is wrong (TEN-STRIDES-UNIT), and what is made of it reaches out of the memory.
        if d.object == "imported" and any(stride % d.itemsize for stride in strides):
            raise Inexpressible("Warp cannot import them")
        lines += [DERIVED[d.object]]
    return "\n".join(lines) + "\n"


def facts(x, d):
    said = {"writable": None, "exportable": True}
    if d.object == "recarray":
        return {"writable": None, "exportable": "records have no dtype", "shape": tuple(x.shape)}
    shape, strides = tuple(x.shape), tuple(x.strides)
    if d.object == "vectors":
        shape, strides = (*shape, 2), (*strides, d.itemsize)
    said.update(shape=shape, strides=strides)
    if x.ptr and x.size:
        said["address"] = x.ptr
        if d.memory and d.object not in ("computed",):
            start = ctypes.addressof((ctypes.c_char * len(d.memory)).from_buffer(d.memory))
            said["allocation"] = (start, start + len(d.memory))
    return said


def view(d):
    more = " + (2,)" if d.object == "vectors" else ""
    step = f" + ({d.itemsize},)" if d.object == "vectors" else ""
    return f"""def source_view():
    return x.ptr, tuple(x.shape){more}, tuple(x.strides){step}, {d.itemsize}

def allocation():
    return bounds(source_view())
"""
