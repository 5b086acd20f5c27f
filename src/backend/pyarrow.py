"""Apache Arrow: arrays of one axis, which nobody may write to, and tensors."""

import pyarrow as pa

VERSIONS = [("pyarrow", pa.__version__)]
CLAIMS = None
MUTABLE = True  # tensors are
HAS_READONLY = True
PYTHON_DESTRUCTOR = False
MAX_NDIM = 32

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
DTYPES = ["bool", *NUMBERS]
OBJECTS = ["tensor", "slice", "nulls", "nullable", "bits", "text", "dictionary", "extension", "vectors", "imported", "computed"]

REFUSABLE = {
    "nulls": "some elements are missing",
    "bits": "a bit per truth value",
    "text": "no numbers",
    "dictionary": "no numbers",
    "vectors": "no strided memory",
}


def statements(d):
    kind, size = d.object, d.itemsize
    # A fresh buffer of Arrow's own; nobody may write to an array in either case.
    lines = ["import pyarrow as pa"]
    if kind == "tensor":
        return tensor(d)
    if len(d.shape) != 1 or d.order != "C":
        raise Inexpressible("Arrow's arrays have one axis and no gaps")
    if not d.writable:
        raise Inexpressible("Arrow's arrays are all read-only")
    (length,) = d.shape
    if d.dtype == "bool" and kind not in ("bits", "nulls"):
        raise Inexpressible("Arrow's truth values are bits")
    if kind == "bits":
        if d.dtype != "bool":
            raise Inexpressible("bits are truth values")
        lines += [f"x = pa.array([value % 2 == 1 for value in block], pa.bool_())"]
        return "\n".join(lines) + "\n"
    if kind == "nulls":
        lines += [f"x = pa.array([None] * {length}, pa.{d.dtype.replace('bool', 'bool_')}())"]
        return "\n".join(lines) + "\n"
    if kind == "text":
        lines += [f"x = pa.array(['a'] * {length})"]
        return "\n".join(lines) + "\n"
    if kind == "nullable":
        bitmap = f"pa.py_buffer(bytes([255]) * {length // 8 + 1})"
        lines += [f"x = pa.Array.from_buffers(pa.{d.dtype}(), {length}, [{bitmap}, pa.py_buffer(block)])"]
        return "\n".join(lines) + "\n"
    lines += [f"x = pa.Array.from_buffers(pa.{d.dtype}(), {length}, [None, pa.py_buffer(block)])"]
    if kind == "slice":
        lines += ["x = pa.concat_arrays([x, x])[1:]"]
    elif kind == "computed":
        lines += ["x = pa.concat_arrays([x, x])"]
    elif kind == "dictionary":
        lines += ["x = x.dictionary_encode()"]
    elif kind == "extension":
        if length % 2 or not length:
            raise Inexpressible("pairs only")
        lines += [f"kind = pa.fixed_shape_tensor(pa.{d.dtype}(), [2])"]
        lines += ["x = pa.ExtensionArray.from_storage(kind, pa.FixedSizeListArray.from_arrays(x, 2))"]
    elif kind == "vectors":
        if length % 2:
            raise Inexpressible("pairs only")
        lines += ["x = pa.FixedSizeListArray.from_arrays(x, 2)"]
    elif kind == "imported":
        lines += ["x = pa.Array.from_dlpack(x)"]
    elif kind != "array":
        raise Inexpressible(f"Arrow has no {kind}")
    return "\n".join(lines) + "\n"


def tensor(d):
    if d.dtype == "bool":
        raise Inexpressible("Arrow has no tensors of truth values")
    if not d.memory:
        array = f"np.zeros({d.shape}, {d.dtype!r})"
    else:
        array = f"np.ndarray({d.shape}, {d.dtype!r}, block, {d.offset}, {d.strides})"
    lines = ["import numpy as np, pyarrow as pa", f"array = {array}"]
    if not d.writable:
        lines += ["array.flags.writeable = False"]
    return "\n".join([*lines, "x = pa.Tensor.from_numpy(array)"]) + "\n"


def facts(x, d):
    said = {"writable": False, "exportable": REFUSABLE.get(d.object, True)}
    if d.object == "tensor":
        return {"writable": x.is_mutable, "exportable": True, "shape": tuple(x.shape), "strides": tuple(x.strides)}
    if d.object == "extension":
        storage = x.storage.flatten()
        item, shape = storage.type.bit_width // 8, (len(x), 2)
    elif d.object in REFUSABLE:
        return {**said, "shape": (len(x),)}
    else:
        storage, item, shape = x, x.type.bit_width // 8, (len(x),)
    buffer = storage.buffers()[1]
    strides = (2 * item, item)[-len(shape) :]
    said.update(shape=shape, strides=strides, itemsize=item)
    if buffer is not None:
        said.update(address=buffer.address + storage.offset * item, allocation=(buffer.address, buffer.address + buffer.size))
    return said


def view(d):
    if d.object in ("tensor", "extension"):
        return ""
    return """def source_view():
    item = x.type.bit_width // 8
    return x.buffers()[1].address + x.offset * item, (len(x),), (item,), item

def allocation():
    return x.buffers()[1].address, x.buffers()[1].address + x.buffers()[1].size
"""
