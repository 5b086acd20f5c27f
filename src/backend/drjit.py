"""Dr.Jit on LLVM: compact arrays, flat ones and tensors, which are computed when they are asked for."""

import drjit as dr
import drjit.llvm
import drjit.llvm.ad
import drjit.scalar
import numpy as np

VERSIONS = [("drjit", dr.__version__), ("numpy", np.__version__)]
CLAIMS = None
MUTABLE = True
HAS_READONLY = False
PYTHON_DESTRUCTOR = False
MAX_NDIM = 32

SUFFIX = {"bool": "b", "int8": "i8", "uint8": "u8", "int32": "i", "uint32": "u", "int64": "i64", "uint64": "u64"}
SUFFIX.update(float16="f16", float32="f", float64="f64")
DTYPES = [name for name, suffix in SUFFIX.items() if hasattr(drjit.llvm, f"TensorX{suffix}")]
FLOATING = ["float16", "float32", "float64"]

DERIVED = {
    # The ordinary array of one axis is a flat one.
    "tensor": "",
    # Of the mode without a compiler, which keeps vectors of the host.
    "eager": "",
    "lazy": "x = dr.select(dr.opaque(drjit.llvm.Bool, True), x, x)",
    "computed": "x = dr.select(dr.opaque(drjit.llvm.Bool, True), x, x)\ndr.eval(x)",
    "requires-grad": "dr.enable_grad(x)",
    "grad-result": "dr.enable_grad(x)\nx = dr.abs(x)\ndr.eval(x)",
    "vectors": "x = drjit.llvm.Array2{}(x, x)",
    "ragged": "x = drjit.llvm.ArrayX{}([x, dr.concat([x, x])])",
    "traced": "kept = []\ndr.while_loop((drjit.llvm.Int([0, 1]),), lambda i: i < 3, lambda i: kept.append(i) or (i + 1,))\nx = kept[0]",
}
# Before 1.0 vectors leave with their axes the other way round, and some of the rest end the process unexported.
OBJECTS = list(DERIVED) if int(dr.__version__.split(".")[0]) else ["tensor"]
REFUSABLE = {"ragged": "rows of different lengths", "traced": "a placeholder"}
GRADED = ["requires-grad", "grad-result"]


def statements(d):
    compact, step = [], d.itemsize
    for extent in reversed(d.shape):
        compact.insert(0, step)
        step *= max(extent, 1)
    if not d.writable:
        raise Inexpressible("Dr.Jit has no read-only arrays")
    if d.memory and d.strides != tuple(compact) or not d.memory and d.order != "C":
        raise Inexpressible("Dr.Jit's arrays are compact")
    if d.object in GRADED and d.dtype not in FLOATING:
        raise Inexpressible(f"nothing of {d.dtype} is differentiated")
    if d.object in ("vectors", "ragged") and (len(d.shape) != 1 or not d.memory):
        raise Inexpressible("vectors are of flat arrays")
    if d.object == "traced" and d.dtype != "int32":
        raise Inexpressible("such an array has no dtype of its own")
    if d.dtype == "bool" and d.object not in ("array", "tensor", "eager"):
        # A truth value of NumPy's may be any byte.
        raise Inexpressible("Dr.Jit computes with the lowest bit of a truth value")
    suffix = SUFFIX[d.dtype]
    folder = "drjit.llvm.ad" if d.object in GRADED else "drjit.scalar" if d.object == "eager" else "drjit.llvm"
    source = f"np.ndarray({d.shape}, {d.dtype!r}, block, {d.offset})" if d.memory else f"np.zeros({d.shape}, {d.dtype!r})"
    lines = ["import drjit as dr, drjit.llvm, drjit.llvm.ad, drjit.scalar, numpy as np", f"x = {folder}.TensorX{suffix}({source})"]
    if len(d.shape) == 1 and d.object not in ("tensor", "eager"):
        lines += ["x = x.array"]
    if d.object != "array":
        if d.object not in DERIVED:
            raise Inexpressible(f"Dr.Jit has no {d.object}")
        lines += [DERIVED[d.object].format(suffix)]
    return "\n".join(lines) + "\n"


def facts(x, d):
    said = {"writable": None, "exportable": REFUSABLE.get(d.object, True)}
    if d.object in REFUSABLE:
        return {**said, "special": True}
    said["shape"] = tuple(dr.shape(x))
    if not d.memory:
        return said
    if d.object in ("lazy", "vectors"):
        # To ask for the memory would compute it, or make a copy.
        size = len(d.memory) - d.offset if d.shape else d.itemsize
        said["values"] = bytes(d.memory)[d.offset : d.offset + size] * (2 if d.object == "vectors" else 1)
    else:
        array = dr.detach(x).numpy()
        said.update(address=array.__array_interface__["data"][0], strides=array.strides)
    return said


def view(d):
    if d.object in (*REFUSABLE, "lazy", "vectors"):
        return ""
    return """def source_view():
    array = dr.detach(x).numpy()
    return array.__array_interface__["data"][0], array.shape, array.strides, array.itemsize

def allocation():
    return bounds(source_view())
"""
