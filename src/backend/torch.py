"""PyTorch: strided tensors over memory of their own, views, and every kind of tensor that is no such thing."""

import ctypes
import os
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.simplefilter("ignore")  # most special tensors announce themselves as experimental

import torch
import torch.utils.backend_registration

VERSIONS = [("torch", torch.__version__)]
# torch names no version of the standard; it follows the keywords of 2024.12.
CLAIMS = None
MUTABLE = True
HAS_READONLY = False  # no tensor is read-only
PYTHON_DESTRUCTOR = False
# Shared memory that is resized kills torch, exported or not.
CHANGES = {"reshape": "x.unsqueeze_(0)", "resize": "x.is_shared() or x.resize_(4 * x.numel() + 64)"}
LOW_LEVEL = ["resize"]  # by its documentation

STANDARD = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
STANDARD += ["float32", "float64", "complex64", "complex128"]
OTHER = ["float16", "bfloat16", "complex32", "bcomplex32", "float4_e2m1fn_x2", "int1", "uint1", "int2", "uint2", "int4", "uint4"]
OTHER += ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]
DTYPES = [name for name in STANDARD + OTHER if hasattr(torch, name)]
FLOATING = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]

# A device of somebody else's (PrivateUse1, kDLExtDev): the only one beside the CPU that needs no hardware. Its
# tensors have no memory; what an export asks of a device is there.
EXTENSION = """if not hasattr(torch, "privateuseone"):
    from torch.utils import backend_registration
    backend_registration._setup_privateuseone_for_python_backend()
    library = torch.privateuseone.library = torch.library.Library("aten", "IMPL")
    def empty_strided(shape, strides, *, dtype=None, layout=None, device=None, pin_memory=None):
        return torch._C._acc.create_empty_tensor(tuple(shape), dtype)
    library.impl("empty_strided", empty_strided, "PrivateUse1")
    def copy_from(source, target, non_blocking=False):
        return target.zero_() if target.is_cpu else target
    library.impl("_copy_from", copy_from, "PrivateUse1")
"""
DEVICES = [(1, 0)]
if hasattr(torch.utils.backend_registration, "_setup_privateuseone_for_python_backend"):
    DEVICES += [(12, 0)]

# What a kind of tensor adds to the ordinary one in `x`, and the dtypes that have it. There are none whose
# storage was freed: torch itself dies of them, export or not.
DERIVED = {
    "subclass": (None, "class Subclass(torch.Tensor): pass\nx = x.as_subclass(Subclass)"),
    "imported": (None, "x = torch.from_dlpack(x)"),
    "requires-grad": (FLOATING, "x.requires_grad_()"),
    "grad-result": (FLOATING, "x = x.requires_grad_().view(x.shape)"),
    "parameter": (None, "x = torch.nn.Parameter(x, requires_grad=False)"),
    "conj": (["complex32", "complex64", "complex128"], "x = x.conj()"),
    "neg": (["float16", "float32", "float64"], "x = torch.complex(x, x).conj().imag"),
    "sparse": (STANDARD, "x = x.to_sparse()"),
    "sparse-csr": (STANDARD, "x = x.to_sparse_csr()"),
    "opaque-layout": (["float32"], "x = x.to_mkldnn()"),
    "meta": (None, "x = x.to('meta')"),
    "fake": (STANDARD, "from torch._subclasses.fake_tensor import FakeTensorMode\nx = FakeTensorMode().from_tensor(x)"),
    "wrapper": (STANDARD, "x = torch._to_functional_tensor(x)"),
    "masked": (STANDARD, "x = torch.masked.masked_tensor(x, torch.ones_like(x, dtype=torch.bool))"),
    "nested": (STANDARD, "x = torch.nested.nested_tensor([x, x])"),
    "broadcast": (None, "x = x.expand(3, *x.shape)"),
    "slice": (None, "x = torch.stack([x, x])[1]"),
    "transposed": (None, "x = x.permute(*reversed(range(x.ndim)))"),
    "inference": (None, "with torch.inference_mode(): x = x.clone()"),
    "shared": (None, "x.share_memory_()"),
    "batched": (STANDARD, "kept = []\ntorch.vmap(lambda part: kept.append(part) or part)(x)\n[x] = kept"),
    "lazy": (STANDARD, "x = torch._efficientzerotensor(x.shape, dtype=x.dtype)"),
    "quantised": (
        ["uint8", "int8", "int32"],
        "x = torch._make_per_tensor_quantized_tensor(x, 0.1, 0)",
    ),
}
OBJECTS = list(DERIVED)

# Why a kind may be refused; the others hold their elements in strided memory of the host.
REFUSABLE = {
    "requires-grad": "gradients cannot be exported",
    "grad-result": "gradients cannot be exported",
    "conj": "the memory holds the conjugate",
    "neg": "the memory holds the negative",
    "sparse": "not strided",
    "sparse-csr": "not strided",
    "opaque-layout": "not strided",
    "meta": "no memory",
    "fake": "no memory",
    "wrapper": "a recorder without memory of its own",
    "masked": "two tensors, values and mask",
    "nested": "not one array",
    "batched": "a placeholder inside vmap",
    "lazy": "no memory: all zeros",
    "quantised": "DLPack has no scale",
}
# What has no elements that could be compared.
FORMLESS = ["sparse", "sparse-csr", "opaque-layout", "meta", "fake", "nested", "batched", "lazy", "wrapper", "masked"]


def statements(d):
    if not d.writable:
        raise Inexpressible("torch has no read-only tensors")
    if d.device == (12, 0):
        if d.object != "array" or d.order != "C":
            raise Inexpressible("torch's extension device has compact tensors only")
        return f"import torch\n{EXTENSION}x = torch._C._acc.create_empty_tensor({d.shape}, torch.{d.dtype})\n"
    text = "import torch\nx = " + plain(d)
    if d.object != "array":
        dtypes, derive = DERIVED.get(d.object, ([], ""))
        if dtypes is not None and d.dtype not in dtypes:
            raise Inexpressible(f"torch has no {d.object} of {d.dtype}")
        text += "\n" + derive
    return text + "\n"


def plain(d):
    dtype, item = f"torch.{d.dtype}", d.itemsize
    if any(stride < 0 for stride in d.strides):
        raise Inexpressible("torch has no negative strides")
    if any(stride % item for stride in d.strides):
        raise Inexpressible("torch counts strides in elements")
    strides = tuple(stride // item for stride in d.strides)
    if not d.memory:
        return f"torch.empty_strided({d.shape}, {strides}, dtype={dtype})"
    if d.order is not None:
        # Memory of torch's own.
        return f"torch.frombuffer(block, dtype=torch.uint8).clone().view({dtype}).as_strided({d.shape}, {strides})"
    # torch's own kernels die of a complex128 that is not aligned to all of its bytes.
    if d.dtype == "complex128" and d.offset % item:
        raise Inexpressible("torch cannot read such memory")
    # An offset that is no multiple of the item size can only be that of the memory itself.
    skip, first = (0, d.offset // item) if d.offset % item == 0 else (d.offset, 0)
    base = f"torch.frombuffer(block, dtype=torch.uint8, offset={skip})"
    return f"{base}.view({dtype}).as_strided({d.shape}, {strides}, {first})"


def facts(x, d):
    said = {"writable": None, "exportable": REFUSABLE.get(d.object, True), "special": d.object in FORMLESS}
    if d.object == "nested":
        return said
    said["shape"] = tuple(x.shape)
    if d.object in FORMLESS or d.device != (1, 0):
        return {**said, "special": True}
    item = x.element_size()
    storage = x.untyped_storage()
    start = storage.data_ptr()
    said["itemsize"] = item
    said["strides"] = tuple(stride * item for stride in x.stride())
    said["address"] = x.data_ptr()
    said["allocation"] = (start, start + storage.nbytes())
    if d.object in ("conj", "neg") and x.numel() <= 4096:
        plain = x.resolve_conj().resolve_neg().contiguous()
        said["values"] = ctypes.string_at(plain.data_ptr(), plain.numel() * item)
    return said


def view(d):
    said = "    item = x.element_size()\n"
    if d.object in ("conj", "neg"):
        # What the elements stand for, not what lies in memory.
        said = "    global kept\n    kept = x = source.resolve_conj().resolve_neg().contiguous()\n" + said
    steps = "tuple(item * step for step in x.stride())"
    return f"""def source_view():
{said}    return x.data_ptr(), tuple(x.shape), {steps}, item

def allocation():
    storage = x.untyped_storage()
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()
"""
