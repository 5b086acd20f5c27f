"""ONNX Runtime on the CPU: values that hold a compact tensor, mostly in memory of NumPy, and values that hold none."""

import numpy as np
import onnxruntime as ort

VERSIONS = [("onnxruntime", ort.__version__), ("numpy", np.__version__)]
CLAIMS = None
MUTABLE = True
HAS_READONLY = False  # a value over read-only memory does not know it
PYTHON_DESTRUCTOR = False
MAX_NDIM = 64

STANDARD = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
# Types that NumPy has not, by their number in ONNX.
BY_NUMBER = {"bfloat16": 16, "float8_e4m3fn": 17, "float8_e4m3fnuz": 18, "float8_e5m2": 19, "float8_e5m2fnuz": 20}
BY_NUMBER["float8_e8m0fnu"] = 24
# Packed, several to a byte.
NARROW = {"uint4": 21, "int4": 22, "float4_e2m1fn": 23, "uint2": 25, "int2": 26}
BY_NUMBER.update(NARROW)
NUMPY = {1: "uint8", 2: "uint16"}
DTYPES = [*STANDARD, *BY_NUMBER]

# A model of one node, in the wire format of protocol buffers: only a model makes values that are no tensors of numbers.
MODEL = """def varint(number):
    return bytes([number]) if number < 128 else bytes([number % 128 | 128]) + varint(number // 128)

def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value

def model(operator, attribute, kind):
    node = field(1, "x") + field(2, "y") + field(4, operator) + attribute
    value = lambda name, kind: field(1, name) + field(2, kind)
    graph = field(1, node) + field(2, "g") + field(11, value("x", field(1, field(1, 1)))) + field(12, value("y", kind))
    return field(1, 8) + field(8, field(2, 17)) + field(7, graph)

def output(operator, attribute, kind):
    session = ort.InferenceSession(model(operator, attribute, kind), providers=["CPUExecutionProvider"])
    return session.run_with_ort_values(None, {"x": x})[0]
"""
DERIVED = {
    "imported": "x = ort.OrtValue.from_dlpack(x)",
    "text": MODEL + "x = output('Cast', field(5, field(1, 'to') + field(3, 8) + field(20, 2)), field(1, field(1, 8)))",
    "nested": MODEL + "x = output('SequenceConstruct', b'', field(4, field(1, field(1, field(1, 1)))))",
    "computed": MODEL + "x = output('Abs', b'', field(1, field(1, 1)))",
    "sparse": "cpu = ort.OrtDevice.make('cpu', 0)\n"
    "x = ort.OrtValue.ort_value_from_sparse_tensor(ort.SparseTensor.sparse_coo_from_numpy("
    "np.array([9, 9]), np.ones(2, 'float32'), np.array([0, 4]), cpu))",
}
OBJECTS = list(DERIVED)
REFUSABLE = {"text": "no numbers", "nested": "not one array", "sparse": "not strided"}


def statements(d):
    compact, step = [], d.itemsize
    for extent in reversed(d.shape):
        compact.insert(0, step)
        step *= max(extent, 1)
    if d.memory and d.strides != tuple(compact) or not d.memory and d.order != "C":
        raise Inexpressible("ONNX Runtime's tensors are compact")
    if d.object not in ("array", "imported") and (d.dtype != "float32" or not d.writable):
        raise Inexpressible("such a value is of one dtype")
    number = BY_NUMBER.get(d.dtype)
    dtype = d.dtype if number is None else NUMPY[d.itemsize]
    lines = ["import numpy as np, onnxruntime as ort"]
    source = f"np.ndarray({d.shape}, {dtype!r}, block, {d.offset})" if d.memory else f"np.zeros({d.shape}, {dtype!r})"
    lines += [f"array = {source}"]
    if not d.writable:
        lines += ["array.flags.writeable = False"]
    make = "ortvalue_from_numpy(array)" if number is None else f"ortvalue_from_numpy_with_onnx_type(array, {number})"
    lines += [f"x = ort.OrtValue.{make}"]
    if d.object != "array":
        if d.object not in DERIVED:
            raise Inexpressible(f"ONNX Runtime has no {d.object}")
        lines += [DERIVED[d.object]]
    if not hasattr(ort.OrtValue, "__dlpack__"):
        lines += ["x = x._ortvalue"]  # older releases export the inner value only
    return "\n".join(lines) + "\n"


def facts(x, d):
    said = {"writable": False if not d.writable else None, "exportable": REFUSABLE.get(d.object, True)}
    if d.object in REFUSABLE:
        return {**said, "special": True}
    said["shape"] = tuple(x.shape())
    if d.object == "computed":
        said["values"] = x.numpy().tobytes()
    elif x.tensor_size_in_bytes() and d.dtype not in NARROW:
        # A value over NumPy's memory does not own it.
        said["address"] = x.data_ptr()
    return said


def view(d):
    if d.object in REFUSABLE or d.object == "computed" or d.dtype in NARROW:
        return ""
    return f"""def source_view():
    strides = [{d.itemsize}]
    for extent in reversed(x.shape()[1:]):
        strides.insert(0, strides[0] * max(extent, 1))
    return x.data_ptr(), tuple(x.shape()), tuple(strides[: len(x.shape())]), {d.itemsize}

def allocation():
    return bounds(source_view())
"""
