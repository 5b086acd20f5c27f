"""PaddlePaddle on the CPU: dense tensors with any strides, and kinds that are no such thing."""

import os
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.simplefilter("ignore")

import numpy as np
import paddle

VERSIONS = [("paddlepaddle", paddle.__version__), ("numpy", np.__version__)]
CLAIMS = None
MUTABLE = True
HAS_READONLY = False
CHANGES = {"reshape": "x.unsqueeze_(0)"}
PYTHON_DESTRUCTOR = False
MAX_NDIM = 9

STANDARD = ["bool", "int8", "int16", "int32", "int64", "uint8", "float32", "float64", "complex64", "complex128"]
DTYPES = STANDARD + ["uint16", "uint32", "uint64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
FLOATING = ["float32", "float64"]

DERIVED = {
    "requires-grad": (FLOATING, "x.stop_gradient = False"),
    "grad-result": (FLOATING, "x.stop_gradient = False\nx = x * 1"),
    "parameter": (FLOATING, "x = paddle.base.framework.EagerParamBase.from_tensor(x, trainable=False)"),
    "slice": (None, "x = paddle.stack([x, x])[1]"),
    "transposed": (None, "x = x.transpose(list(reversed(range(x.ndim))))"),
    "broadcast": (None, "x = x.expand([3, *x.shape])"),
    "imported": (None, "x = paddle.from_dlpack(x)"),
    "sparse": (FLOATING, "x = x.to_sparse_coo(x.ndim)"),
    "sparse-csr": (FLOATING, "x = x.to_sparse_csr()"),
    "conj": (["complex64", "complex128"], "x = x.conj()"),
}
OBJECTS = list(DERIVED)
REFUSABLE = {
    "requires-grad": "gradients cannot be exported",
    "grad-result": "gradients cannot be exported",
    "sparse": "not strided",
    "sparse-csr": "not strided",
}


def statements(d):
    if not d.writable:
        raise Inexpressible("Paddle has no read-only tensors")
    if d.dtype in ("uint16",):
        raise Inexpressible("Paddle's uint16 is its bfloat16")
    lines = ["import numpy as np, paddle"]
    if not d.memory:
        if d.order != "C":
            raise Inexpressible("Paddle lays out empty tensors as it likes")
        lines += [f"x = paddle.zeros({list(d.shape)}, dtype={d.dtype!r})"]
    else:
        if any(stride % d.itemsize for stride in d.strides) or len(d.memory) % d.itemsize:
            raise Inexpressible("Paddle counts strides in elements")
        strides = [stride // d.itemsize for stride in d.strides]
        lines += ["x = paddle.to_tensor(np.frombuffer(block, 'u1'), place='cpu')"]
        if d.dtype != "uint8":
            lines += [f"x = x.view({d.dtype!r})"]
        if d.order == "C":
            lines += [f"x = x.reshape({list(d.shape)})"]
        else:
            # The offset is in bytes.
            lines += [f"x = paddle.as_strided(x, {list(d.shape)}, {strides}, {d.offset})"]
    if d.object != "array":
        dtypes, derive = DERIVED.get(d.object, ([], ""))
        if dtypes is not None and d.dtype not in dtypes:
            raise Inexpressible(f"Paddle has no {d.object} of {d.dtype}")
        lines += [derive]
    return "\n".join(lines) + "\n"


def facts(x, d):
    said = {"writable": None, "exportable": REFUSABLE.get(d.object, True)}
    if d.object in ("sparse", "sparse-csr"):
        return said
    item = x.element_size()
    said.update(shape=tuple(x.shape), strides=tuple(step * item for step in x.strides), itemsize=item)
    if x.size and x.data_ptr():
        said["address"] = x.data_ptr()
    return said


def view(d):
    return """def source_view():
    item = x.element_size()
    return x.data_ptr(), tuple(x.shape), tuple(item * step for step in x.strides), item

def allocation():
    return bounds(source_view())
"""
