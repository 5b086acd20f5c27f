"""Modular's MAX: buffers of the driver on the CPU, compact ones and slices of them."""

import max.driver
from max.driver import Buffer
from max.dtype import DType

VERSIONS = [("max", max.driver.__version__)]
CLAIMS = None
MUTABLE = True
HAS_READONLY = False  # a buffer over read-only memory does not say so in any way
PYTHON_DESTRUCTOR = False

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
# Several elements to a byte: the library tells the address of bytes only.
PACKED = ["float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"]
OTHER = ["bfloat16", "float8_e8m0fnu", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", *PACKED]
DTYPES = ["bool", *NUMBERS, *(name for name in OTHER if hasattr(DType, name))]

EVERY = "*[slice(None)] * (x.rank - 1)"
DERIVED = {
    "slice": f"x = x[(slice(1, None), {EVERY})]",
    "field": f"x = x[({EVERY}, slice(0, None, 2))]",
    "reversed": f"x = x[({EVERY}, slice(None, None, -1))]",
    "scalar": "x = x[(0,) * x.rank]",
    "computed": "x = x.copy()",
}
OBJECTS = ["imported", "borrowed", *DERIVED]


def statements(d):
    import_ = "from max.driver import CPU, Buffer\nfrom max.dtype import DType\n"
    if d.object in ("imported", "borrowed"):
        if d.dtype not in NUMBERS or d.order != "C":
            raise Inexpressible("MAX imports compact arrays of NumPy's")
        if d.object == "imported" and not d.writable:
            raise Inexpressible("MAX copies what it imports of read-only memory")
        make = "Buffer.from_dlpack(x)" if d.object == "imported" else "Buffer(x, CPU())"
        return f"{d.statements}{import_}x = {make}\nx.stream.synchronize()\n"
    if not d.writable:
        raise Inexpressible("MAX has no read-only buffers of its own")
    dtype = f"DType.{d.dtype}"
    if d.dtype in PACKED or not d.memory:
        if d.order != "C":
            raise Inexpressible("MAX lays out empty buffers as it likes")
        text = f"{import_}x = Buffer({dtype}, {list(d.shape)})\n"
    elif d.order == "C":
        text = f"{import_}import numpy as np\nx = Buffer.from_numpy(np.frombuffer(block, 'u1')).copy().view({dtype}, {list(d.shape)})\n"
    else:
        text = f"{import_}import numpy as np\n{line(d, dtype)}"
    if d.object != "array":
        if d.object not in DERIVED or not d.shape:
            raise Inexpressible(f"MAX has no {d.object}")
        text += DERIVED[d.object] + "\n"
    # Copies are made in the background: until then the memory holds what it likes.
    return text + "x.stream.synchronize()\n"


def line(d, dtype):
    """One axis of any step."""
    if len(d.shape) != 1 or d.strides[0] % d.itemsize or d.offset % d.itemsize or not d.strides[0]:
        raise Inexpressible("MAX slices along axes")
    if len(d.memory) % d.itemsize:
        raise Inexpressible("MAX counts in elements")
    first, step = d.offset // d.itemsize, d.strides[0] // d.itemsize
    last = first + (d.shape[0] - 1) * step
    stop = last + (1 if step > 0 else -1)
    whole = f"Buffer.from_numpy(np.frombuffer(block, 'u1')).view({dtype}, [{len(d.memory) // d.itemsize}])"
    return f"x = {whole}[{first}:{stop if stop >= 0 else None}:{step}]\n"


def facts(x, d):
    said = {"writable": None, "exportable": True, "shape": tuple(x.shape)}
    if d.dtype not in PACKED:
        item = x.element_size
        said.update(itemsize=item, strides=tuple(step * item for step in x.strides))
        if x.num_elements:
            said["address"] = x._data_ptr()
    return said


def view(d):
    return """def source_view():
    return x._data_ptr(), tuple(x.shape), tuple(x.element_size * step for step in x.strides), x.element_size

def allocation():
    return bounds(source_view())
"""
