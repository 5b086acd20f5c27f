"""JAX: compact arrays of XLA on two devices of the CPU, and everything that looks like an array and is none."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=3 --xla_cpu_multi_thread_eigen=false")

import jax
import jax.numpy as jnp
import jaxlib

jax.config.update("jax_enable_x64", True)

VERSIONS = [("jax", jax.__version__), ("jaxlib", jaxlib.__version__)]
CLAIMS = getattr(jnp, "__array_api_version__", None)
MUTABLE = False  # no array can be written to
HAS_READONLY = False
PYTHON_DESTRUCTOR = False
DEVICES = [(1, 0), (1, 1)]
MAX_NDIM = 64

STANDARD = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
STANDARD += ["float32", "float64", "complex64", "complex128"]
OTHER = ["float16", "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"]
OTHER += ["float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn", "int4", "uint4", "int2", "uint2"]
DTYPES = STANDARD + [name for name in OTHER if hasattr(jnp, name)]

# What a kind of array adds to the ordinary one in `x`.
TRACE = "kept = []\n{}\nx = kept[0]"
SHARD = """from jax.sharding import Mesh, NamedSharding, PartitionSpec
x = jax.device_put(jnp.stack([x, x, x]), NamedSharding(Mesh(jax.devices()[:3], 'd'), PartitionSpec({})))"""
PLACE = "x = jax.device_put(x, jax.sharding.SingleDeviceSharding(x.device, memory_kind={!r}))"
DERIVED = {
    "slice": "x = jnp.stack([x, x])[1]",
    "transposed": "x = x.T",
    "broadcast": "x = jnp.broadcast_to(x, (3, *x.shape))",
    "computed": "x = jnp.where(True, x, x)",
    "imported": "x = jax.dlpack.from_dlpack(x)",
    "deleted": "x.delete()",
    "donated": "jax.jit(lambda a: jnp.where(True, a, a), donate_argnums=0)(x).block_until_ready()",
    "sharded": SHARD.format("'d'"),
    "replicated": SHARD.format(""),
    "traced": TRACE.format("jax.jit(lambda a: kept.append(a) or a)(x)"),
    "differentiated": TRACE.format("jax.vjp(lambda a: kept.append(a) or a, x)"),
    "batched": TRACE.format("jax.vmap(lambda a: kept.append(a) or a)(x)"),
    "pinned": PLACE.format("pinned_host"),
    "host-memory": PLACE.format("unpinned_host"),
}
OBJECTS = list(DERIVED)
REFUSABLE = {
    "deleted": "its buffer was freed",
    "sharded": "on several devices",
    "replicated": "on several devices",
    "traced": "a placeholder",
    "differentiated": "a placeholder",
    "batched": "a placeholder",
}
UNNAMED = ["int4", "uint4", "int2", "uint2"]
FLOATING = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


def statements(d):
    if not d.writable:
        raise Inexpressible("JAX has no read-only arrays beside others")
    if d.order != "C":
        raise Inexpressible("JAX's arrays are compact")
    if d.object == "differentiated" and d.dtype not in FLOATING:
        raise Inexpressible(f"nothing of {d.dtype} is differentiated")
    if d.dtype in ("int2", "uint2") and d.object != "array" and jax.__version_info__ < (0, 10):
        raise Inexpressible("XLA died of computing with two bits (0.7.2), export or not")
    dtype = f"jnp.dtype({d.dtype!r})"
    lines = ["import jax, jax.numpy as jnp, numpy as np"]
    if d.itemsize == 8 or d.dtype == "complex128":
        lines += ["jax.config.update('jax_enable_x64', True)"]
    if d.device != (1, 0) or d.object in ("sharded", "replicated"):
        lines[0] = "import os; os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=3'\n" + lines[0]
    source = f"np.frombuffer(block, {dtype}).reshape({d.shape})" if d.memory else f"np.zeros({d.shape}, {dtype})"
    # A copy of its own: otherwise JAX may keep NumPy's memory.
    lines += [f"x = jax.device_put({source}, jax.devices()[{d.device[1]}])"]
    if d.object != "array":
        if d.object not in DERIVED:
            raise Inexpressible(f"JAX has no {d.object}")
        lines += [DERIVED[d.object]]
    if d.object not in REFUSABLE and d.object != "donated":
        # Arrays are computed, and moved between kinds of memory, in the background.
        lines += ["x.block_until_ready()"]
    return "\n".join(lines) + "\n"


def facts(x, d):
    exportable = REFUSABLE.get(d.object, "DLPack 1.3 or JAX has no such element" if d.dtype in UNNAMED else True)
    if d.object == "donated" and x.is_deleted():
        exportable = "its buffer was given away"
    said = {"writable": None, "exportable": exportable, "shape": tuple(x.shape)}
    if d.object in REFUSABLE or x.is_deleted():
        return said
    if d.dtype not in ("float4_e2m1fn", *UNNAMED):
        start = x.unsafe_buffer_pointer()
        said.update(address=start, allocation=(start, start + x.nbytes), strides=compact(x), itemsize=x.dtype.itemsize)
    return said


def compact(x):
    strides, step = [], x.dtype.itemsize
    for extent in reversed(x.shape):
        strides.insert(0, step)
        step *= max(extent, 1)
    return tuple(strides)


def view(d):
    return """def source_view():
    strides = [x.dtype.itemsize]
    for extent in reversed(x.shape[1:]):
        strides.insert(0, strides[0] * max(extent, 1))
    return x.unsafe_buffer_pointer(), x.shape, tuple(strides[: x.ndim]), x.dtype.itemsize

def allocation():
    return x.unsafe_buffer_pointer(), x.unsafe_buffer_pointer() + x.nbytes
"""
