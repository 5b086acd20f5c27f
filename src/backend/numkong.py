"""NumKong: tensors over any pointer with any strides, and of small floats that NumPy lacks."""

import numkong as nk

VERSIONS = [("numkong", nk.__version__)]
CLAIMS = None
MUTABLE = True
HAS_READONLY = False  # a tensor of read-only memory does not say so in any way
PYTHON_DESTRUCTOR = False

NUMPY = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NUMPY += ["float16", "float32", "float64", "complex64", "complex128"]
# Others, by NumKong's names for them. Its integers narrower than a byte count whole bytes, so that no case has them.
OTHER = {
    "bfloat16": "bfloat16",
    "complex32": "complex32",
    "bcomplex32": "bcomplex32",
    "float8_e4m3fn": "float8_e4m3",
    "float8_e5m2": "float8_e5m2",
    "float6_e2m3fn": "float6_e2m3",
    "float6_e3m2fn": "float6_e3m2",
}
DTYPES = [*NUMPY, *OTHER]

DERIVED = {
    "transposed": "x = x.T",
    "reversed": "x = x[::-1]",
    "slice": "x = x[1:]",
}
OBJECTS = ["imported", *DERIVED]


def statements(d):
    if d.object == "imported":
        if d.dtype not in NUMPY:
            raise Inexpressible(f"NumPy has no {d.dtype} to import")
        # Read-only memory too: NumKong asks for a versioned capsule and passes over the flag.
        return f"{d.statements}import numkong as nk\nx = nk.from_dlpack(x)\n"
    if not d.writable:
        raise Inexpressible("NumKong has no read-only tensors but imported ones")
    if not d.memory:
        if d.order != "C":
            raise Inexpressible("NumKong lays out empty tensors as it likes")
        text = f"import numkong as nk\nx = nk.zeros({d.shape}, dtype={OTHER.get(d.dtype, d.dtype)!r})\n"
    else:
        text = f"""import ctypes, numkong as nk
address = ctypes.addressof((ctypes.c_char * len(block)).from_buffer(block)) + {d.offset}
x = nk.from_pointer(address, {d.shape}, {OTHER.get(d.dtype, d.dtype)!r}, strides={d.strides}, owner=block)
"""
        if d.order == "C":
            text += "x = x.copy()\n"  # memory of NumKong's own
    if d.object != "array":
        if d.object not in DERIVED:
            raise Inexpressible(f"NumKong has no {d.object}")
        text += DERIVED[d.object] + "\n"
    return text


def facts(x, d):
    return {
        "writable": None,
        "exportable": True,
        "shape": x.shape,
        "strides": x.strides,
        "itemsize": x.itemsize,
        "address": x.data_ptr,
    }


def view(d):
    return """def source_view():
    return x.data_ptr, x.shape, x.strides, x.itemsize

def allocation():
    return bounds(source_view())
"""
