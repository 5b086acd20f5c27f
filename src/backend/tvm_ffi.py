"""Apache TVM FFI: tensors over the memory of whatever exporter they were made of; here of NumPy's arrays."""

import tvm_ffi

VERSIONS = [("apache-tvm-ffi", tvm_ffi.__version__)]
CLAIMS = None
MUTABLE = True
HAS_READONLY = False
PYTHON_DESTRUCTOR = False

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "float32", "float64", "complex64", "complex128"]
OBJECTS = ["imported"]


def statements(d):
    # Every tensor is imported; one of read-only memory is asked for by that name, as the library has no other.
    if d.object != ("array" if d.writable else "imported"):
        raise Inexpressible("TVM's tensors are writable ones or imported read-only ones")
    return f"{d.statements}import tvm_ffi\nx = tvm_ffi.from_dlpack(x)\n"


def facts(x, d):
    item = d.itemsize
    said = {"writable": None, "exportable": True, "shape": tuple(x.shape), "strides": tuple(step * item for step in x.strides)}
    if x.data_ptr():
        said["address"] = x.data_ptr()
    return said


def view(d):
    return """def source_view():
    item = (x.dtype.bits * x.dtype.lanes + 7) // 8
    return x.data_ptr(), tuple(x.shape), tuple(item * step for step in x.strides), item

def allocation():
    return bounds(source_view())
"""
