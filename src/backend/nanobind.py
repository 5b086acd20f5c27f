"""nanobind's ndarray, by a small extension: any pointer, any strides, any element type, any device's label."""

import ctypes

import dlpack_fuzz_nanobind
import nanobind

VERSIONS = [("nanobind", nanobind.__version__)]
CLAIMS = None
MUTABLE = True
HAS_READONLY = True  # arrays of const
PYTHON_DESTRUCTOR = False
# Labels: the memory is the host's, so that values can be compared wherever the label allows it.
DEVICES = [(1, 0), (2, 1), (12, 3)]

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
DTYPES += ["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn_x2"]


def statements(d):
    if any(stride % d.itemsize for stride in d.strides):
        raise Inexpressible("nanobind counts strides in elements")
    if d.object != "array":
        raise Inexpressible(f"nanobind has no {d.object}")
    strides = [stride // d.itemsize for stride in d.strides]
    make = "make" if d.writable else "make_const"
    (code, bits, lanes), (kind, number) = d.triple, d.device
    return f"""import ctypes, dlpack_fuzz_nanobind
address = ctypes.addressof((ctypes.c_char * len(block)).from_buffer(block)) + {d.offset}
x = dlpack_fuzz_nanobind.{make}(address, {list(d.shape)}, {strides}, {code}, {bits}, {lanes}, {kind}, {number}, block)
"""


def facts(x, d):
    said = {"writable": d.writable, "exportable": True}
    if d.memory:
        start = ctypes.addressof((ctypes.c_char * len(d.memory)).from_buffer(d.memory))
        said.update(address=start + d.offset, allocation=(start, start + len(d.memory)), strides=d.strides)
    return said


def view(d):
    return f"""def source_view():
    return address, {d.shape}, {d.strides}, {d.itemsize}

def allocation():
    return address - {d.offset}, address - {d.offset} + len(block)
"""
