"""MLX on the CPU: arrays that are computed when they are asked for, with any strides."""

import ctypes

import mlx.core as mx

VERSIONS = [("mlx", mx.__version__)]
CLAIMS = None
MUTABLE = False  # an update makes another array
HAS_READONLY = False
PYTHON_DESTRUCTOR = False
MAX_NDIM = 32

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "bfloat16", "float32", "float64", "complex64"]

DERIVED = {
    "slice": "x = mx.stack([x, x])[1]",
    "reversed": "x = x[..., ::-1] if x.ndim else x",
    "transposed": "x = x.T",
    "broadcast": "x = mx.broadcast_to(x, (3, *x.shape))",
    "computed": "x = mx.where(mx.array(True), x, x)\nmx.eval(x)",
    "lazy": "x = mx.where(mx.array(True), x, x)",
    "traced": "kept = []\nmx.compile(lambda a: kept.append(a) or a)(x)\n[x] = kept",
}
OBJECTS = list(DERIVED)


class Buffer(ctypes.Structure):
    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


RECORDS = 0x1C  # PyBUF_RECORDS_RO


def statements(d):
    if not d.writable:
        raise Inexpressible("MLX has no read-only arrays beside others")
    if any(not abs(number) < 1 << 31 for number in (*d.shape, *d.strides)):
        # MLX 0.32 aborts the process where such a shape is asked for.
        raise Inexpressible("MLX counts with 32 bits")
    dtype = "mx.bool_" if d.dtype == "bool" else f"mx.{d.dtype}"
    lines = ["import mlx.core as mx", "mx.set_default_device(mx.cpu)"]
    if not d.memory:
        if d.order != "C":
            raise Inexpressible("MLX lays out empty arrays as it likes")
        lines += [f"x = mx.zeros({d.shape}, {dtype})"]
    else:
        if any(stride % d.itemsize for stride in d.strides) or d.offset % d.itemsize:
            raise Inexpressible("MLX counts in elements")
        if len(d.memory) % d.itemsize:
            raise Inexpressible("MLX counts in elements")
        strides = tuple(stride // d.itemsize for stride in d.strides)
        lines += [f"x = mx.array(memoryview(block)).view({dtype})"]
        if d.order == "C":
            lines += [f"x = x.reshape({d.shape})"]
        else:
            lines += [f"x = mx.as_strided(x, {d.shape}, {strides}, {d.offset // d.itemsize})"]
    if d.object != "array":
        if d.object not in DERIVED:
            raise Inexpressible(f"MLX has no {d.object}")
        lines += ["mx.eval(x)", DERIVED[d.object]]
    if d.object not in ("lazy", "traced"):
        lines += ["mx.eval(x)"]
    return "\n".join(lines) + "\n"


def facts(x, d):
    said = {"writable": None, "exportable": "a placeholder" if d.object == "traced" else True, "shape": tuple(x.shape)}
    if d.object in ("lazy", "traced") or d.dtype == "bfloat16":
        return said
    buffer = Buffer()
    api = ctypes.pythonapi
    if api.PyObject_GetBuffer(ctypes.py_object(x), ctypes.byref(buffer), RECORDS):
        return said
    said["strides"] = tuple(buffer.strides[: buffer.ndim])
    if buffer.buf:
        said["address"] = buffer.buf
    api.PyBuffer_Release(ctypes.byref(buffer))
    return said
