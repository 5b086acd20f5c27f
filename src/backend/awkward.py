"""Awkward Array: the integer indexes of its layouts, the only things of it that export; each holds a NumPy array."""

import awkward as ak

VERSIONS = [("awkward", ak.__version__)]
CLAIMS = None
MUTABLE = True
HAS_READONLY = True
PYTHON_DESTRUCTOR = False
MAX_NDIM = 1
ORDINARY = ("int64", (6,))

NAMES = {"int8": "Index8", "uint8": "IndexU8", "int32": "Index32", "uint32": "IndexU32", "int64": "Index64"}
DTYPES = list(NAMES)
DERIVED = {
    "slice": "x = x[1:]",
    "reversed": "x = x[::-1]",
    "computed": "x = ak.Array([[1, 2], [], [3]]).layout.offsets",
}
OBJECTS = list(DERIVED)


def statements(d):
    if len(d.shape) != 1:
        raise Inexpressible("an index has one axis")
    if d.object == "computed" and (d.dtype != "int64" or not d.writable):
        raise Inexpressible("offsets are int64")
    text = f"{d.statements}import awkward as ak\nx = ak.index.{NAMES[d.dtype]}(x)\n"
    return text + DERIVED.get(d.object, "") + "\n"


def facts(x, d):
    data = x.data
    start = data.__array_interface__["data"][0]
    said = {"writable": data.flags.writeable, "exportable": True, "shape": data.shape, "strides": data.strides}
    return {**said, "itemsize": data.itemsize, "address": start, "owner": data}


def view(d):
    return """def source_view():
    data = x.data
    return data.__array_interface__["data"][0], data.shape, data.strides, data.itemsize

def allocation():
    return bounds(source_view())
"""
