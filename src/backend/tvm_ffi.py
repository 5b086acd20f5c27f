"""Apache TVM FFI: tensors over the memory of whatever exporter they were made of; here of NumPy's arrays."""

import tvm_ffi

VERSIONS = [("apache-tvm-ffi", tvm_ffi.__version__)]
CLAIMS = None
MUTABLE = True
# No tensor says so itself; but an imported one keeps the struct it came in, whose flag does.
HAS_READONLY = True
PYTHON_DESTRUCTOR = False

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "float32", "float64", "complex64", "complex128"]
OBJECTS = ["imported"]
# A tensor is on the device that it came from. Labels: the memory is the host's.
DEVICES = [(1, 0), (2, 3), (12, 0)]

# Writes the device into the struct behind a legacy capsule.
LABEL = """import ctypes
behind = ctypes.pythonapi.PyCapsule_GetPointer
behind.restype, behind.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
x = x.__dlpack__()
(ctypes.c_int32 * 2).from_address(behind(x, b"dltensor") + 8)[:] = {}
"""


def statements(d):
    # Every tensor is imported; one of read-only memory is asked for by that name, as the library has no other.
    if d.object != ("array" if d.writable else "imported"):
        raise Inexpressible("TVM's tensors are writable ones or imported read-only ones")
    # Only a versioned capsule can say that its memory is read-only, and the library asks for none by itself.
    capsule = "x" if d.writable else "x.__dlpack__(max_version=(1, 0))"
    label = LABEL.format(d.device) if d.device != (1, 0) else ""
    if label and not d.writable:
        raise Inexpressible("read-only memory is the host's")
    return f"{d.statements}{label}import tvm_ffi\nx = tvm_ffi.from_dlpack({capsule})\n"


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
