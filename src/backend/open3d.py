"""Open3D on the CPU: tensors with memory of their own, and over NumPy's with any strides."""

import open3d
from open3d.core import Tensor

VERSIONS = [("open3d", open3d.__version__)]
CLAIMS = None
MUTABLE = True
HAS_READONLY = False  # a tensor over read-only memory does not say so in any way
PYTHON_DESTRUCTOR = False

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
DERIVED = {
    "slice": "x = x[1:]",
    "reversed": "x = x[::-1]",
    "transposed": "x = x.T()",
    "computed": "x = x.clone()",
    "imported": "x = Tensor.from_dlpack(x)",
}
OBJECTS = ["borrowed", *DERIVED]


def statements(d):
    if not d.writable and d.object != "borrowed":
        raise Inexpressible("Open3D has no read-only tensors of its own")
    # Only a copy makes memory of Open3D's own.
    make = "Tensor" if d.order == "C" and d.object != "borrowed" else "Tensor.from_numpy"
    text = f"{d.statements}from open3d.core import Tensor\nx = {make}(x)\n"
    if d.object not in ("array", "borrowed"):
        if d.object not in DERIVED:
            raise Inexpressible(f"Open3D has no {d.object}")
        text += DERIVED[d.object] + "\n"
    return text


def facts(x, d):
    # The same memory, as NumPy sees it.
    array = x.numpy()
    said = {"writable": None, "exportable": True, "shape": tuple(x.shape), "itemsize": array.itemsize}
    return {**said, "strides": tuple(step * array.itemsize for step in x.strides), "address": array.__array_interface__["data"][0]}


def view(d):
    return """def source_view():
    array = x.numpy()
    return array.__array_interface__["data"][0], tuple(x.shape), tuple(array.itemsize * step for step in x.strides), array.itemsize

def allocation():
    return bounds(source_view())
"""
