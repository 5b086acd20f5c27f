"""kornia-rs on the CPU: images of height, width and channels over memory of NumPy, and the tensors made of them."""

import kornia_rs
import numpy as np

VERSIONS = [("kornia-rs", kornia_rs.__version__), ("numpy", np.__version__)]
CLAIMS = None
MUTABLE = True
HAS_READONLY = True
PYTHON_DESTRUCTOR = False
MAX_NDIM = 3

DTYPES = ["uint8", "uint16", "int32", "float32"]
IMAGE = "kornia_rs.image.Image"
DERIVED = {
    "slice": "x = x.crop(0, 0, x.width, x.height)",
    "reversed": "x = x.flip_horizontal()",
    "imported": f"x = {IMAGE}.from_dlpack(x)",
    "computed": "x = x.copy()",
    "tensor": "x = kornia_rs.Preprocessor().run(x.numpy().reshape(-1), x.width, x.height, 2, 2)",
}
OBJECTS = list(DERIVED)


def statements(d):
    compact, step = [], d.itemsize
    for extent in reversed(d.shape):
        compact.insert(0, step)
        step *= max(extent, 1)
    # An image has at least two axes: a flat one is a row of it.
    shape = (1,) * (2 - len(d.shape)) + d.shape
    if d.memory and d.strides != tuple(compact) or not d.memory and d.order != "C":
        raise Inexpressible("images are compact")
    if d.object in ("tensor", "slice", "reversed") and not (d.dtype == "uint8" and d.shape[2:] == (3,) and d.memory and d.writable):
        raise Inexpressible("of images of 8-bit colours only")
    source = f"np.ndarray({shape}, {d.dtype!r}, block, {d.offset})" if d.memory else f"np.zeros({shape}, {d.dtype!r})"
    lines = ["import kornia_rs, numpy as np", f"array = {source}"]
    if not d.writable:
        lines += ["array.flags.writeable = False"]
    lines += [f"x = {IMAGE}.from_numpy(array)"]
    if d.object != "array":
        if d.object not in DERIVED:
            raise Inexpressible(f"kornia-rs has no {d.object}")
        lines += [DERIVED[d.object]]
    return "\n".join(lines) + "\n"


def facts(x, d):
    array = x.numpy()
    said = {"exportable": True, "shape": tuple(x.shape), "strides": array.strides, "itemsize": array.itemsize}
    # What is computed is writable, whatever it was made of.
    said["writable"] = bool(array.flags.writeable)
    if array.size:
        said["address"] = x.data_ptr
    return said


def view(d):
    return """def source_view():
    array = x.numpy()
    return x.data_ptr, tuple(x.shape), array.strides, array.itemsize

def allocation():
    return bounds(source_view())
"""
