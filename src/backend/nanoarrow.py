"""nanoarrow: views of the buffers of Arrow's arrays, which have one axis and which nobody may write to."""

import nanoarrow as na

VERSIONS = [("nanoarrow", na.__version__)]
CLAIMS = None
MUTABLE = False
HAS_READONLY = False
PYTHON_DESTRUCTOR = False
MAX_NDIM = 1

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
DTYPES = ["bool", "timedelta64", *NUMBERS]

REFUSABLE = {
    "bits": "a bit per truth value",
    "nulls": "a bit per element",
    "text": "no numbers",
    "vectors": "no numbers",
}
OBJECTS = ["slice", "imported", "frozen", *REFUSABLE]


def statements(d):
    if len(d.shape) != 1 or d.order != "C":
        raise Inexpressible("Arrow's buffers have one axis and no gaps")
    if not d.writable:
        raise Inexpressible("Arrow's buffers are all read-only")
    (length,) = d.shape
    kind, memory = "na.duration('ns')" if d.dtype == "timedelta64" else f"na.{d.dtype}()", "block"
    number = 1
    lines = ["import nanoarrow as na"]
    if d.object == "bits":
        if d.dtype != "bool":
            raise Inexpressible("bits are truth values")
        kind, length = "na.bool_()", length * 8
    elif d.dtype == "bool":
        raise Inexpressible("Arrow's truth values are bits")
    elif d.object == "nulls":
        number = 0
    elif d.object == "text":
        if d.dtype != "uint8":
            raise Inexpressible("letters are bytes")
        lines += [f"ends = na.c_buffer([0, {length}], na.int32())"]
        kind, memory, length, number = "na.string()", "ends, bytes(len(block))", 1, 2
    elif d.object == "vectors":
        kind = f"na.fixed_size_binary({d.itemsize})"
    elif d.object == "imported":
        if d.dtype == "timedelta64":
            raise Inexpressible("nanoarrow cannot import lengths of time")
        lines = [d.statements + lines[0], "imported = na.c_buffer(x)"]
        memory = "imported"
    elif d.object == "frozen":
        memory = "bytes(block)"
    elif d.object not in ("array", "slice"):
        raise Inexpressible(f"Arrow has no {d.object}")
    if not d.memory and d.object != "imported":
        memory = memory.replace("block", "b''")
    validity = "bytes([255]) * (len(block) + 1)" if d.object == "nulls" else "None"
    # The buffer of a slice is that of the whole.
    offset = ", offset=1" if d.object == "slice" and length else ""
    length -= 1 if offset else 0
    lines += [f"array = na.c_array_from_buffers({kind}, {length}, [{validity}, {memory}]{offset})"]
    return "\n".join([*lines, f"x = array.view().buffer({number})"]) + "\n"


def facts(x, d):
    said = {"writable": not memoryview(x).readonly, "exportable": REFUSABLE.get(d.object, True), "shape": (x.n_elements,)}
    if d.object not in REFUSABLE:
        said.update(itemsize=x.itemsize, address=x._addr(), strides=(x.itemsize,))
    return said


def view(d):
    return """def source_view():
    return x._addr(), (x.n_elements,), (x.itemsize,), x.itemsize

def allocation():
    return bounds(source_view())
"""
