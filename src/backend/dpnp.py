"""dpnp on the OpenCL runtime for the CPU: arrays in unified shared memory of a oneAPI device."""

# Also a part of every reproducer, which would find no device otherwise.
DRIVER = """import os, sys
for folder in ("lib", os.path.join("lib", "intel-ocl-cpu")):
    driver = os.path.join(sys.prefix, folder, "libintelocl.so")
    if os.path.exists(driver):
        os.environ.setdefault("OCL_ICD_FILENAMES", driver)
"""
exec(DRIVER)

import dpctl
import dpctl.memory
import dpnp

VERSIONS = [("dpnp", dpnp.__version__), ("dpctl", dpctl.__version__)]
CLAIMS = getattr(dpnp, "__array_api_version__", None)
MUTABLE = True
HAS_READONLY = hasattr(dpnp.zeros(1).flags, "writable")
PYTHON_DESTRUCTOR = False
DEVICES = [(14, 0)]
MAX_NDIM = 32

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "float32", "float64", "complex64", "complex128"]

USM = {"shared": "Shared", "host-memory": "Host"}
DERIVED = {
    "slice": "x = dpnp.stack([x, x])[1]",
    "reversed": "x = x[..., ::-1] if x.ndim else x",
    "transposed": "x = x.T",
    "broadcast": "x = dpnp.broadcast_to(x, (3, *x.shape))",
    "imported": "x = dpnp.from_dlpack(x)",
    "computed": "x = dpnp.copy(x)",
    # The array that dpnp's own class wraps exports as well.
    "tensor": "x = x.get_array()",
    # A part of the device has a context of its own, which is not the platform's.
    "sub-device": "if not hasattr(dpnp, 'part'):\n"
    "    [part, *_] = dpctl.SyclDevice().create_sub_devices(partition=1)\n"
    "    dpnp.part = dpctl.SyclQueue(part)  # every queue compiles anew\n"
    "x = x.to_device(dpnp.part)",
}
OBJECTS = [*USM, *DERIVED]
# The memory of a CPU's own device is the host's.
IS_HOST = dpctl.SyclDevice().is_cpu


def statements(d):
    lines = [DRIVER + "import dpctl, dpctl.memory, dpnp"]
    if any(stride % d.itemsize for stride in d.strides) or d.offset % d.itemsize:
        raise Inexpressible("dpnp counts in elements")
    kind = USM.get(d.object, "Device")
    if not d.memory:
        if d.order != "C":
            raise Inexpressible("dpnp lays out empty arrays as it likes")
        lines += [f"x = dpnp.zeros({d.shape}, dtype={d.dtype!r}, usm_type={kind.lower()!r})"]
    else:
        lines += [f"memory_ = dpctl.memory.MemoryUSM{kind}({len(d.memory)})", "memory_.copy_from_host(block)"]
        # Strides in bytes, the offset in elements.
        where = f"buffer=memory_, strides={d.strides}, offset={d.offset // d.itemsize}"
        lines += [f"x = dpnp.ndarray({d.shape}, dtype={d.dtype!r}, {where})"]
    if not d.writable:
        if not HAS_READONLY:
            raise Inexpressible("this dpnp has no read-only arrays")
        lines += ["x.flags.writable = False"]
    if d.object != "array" and d.object not in USM:
        if d.object not in DERIVED:
            raise Inexpressible(f"dpnp has no {d.object}")
        lines += [DERIVED[d.object]]
    # Kernels run on: until then the memory holds what it likes.
    lines += ["x.sycl_queue.wait()"]
    return "\n".join(lines) + "\n"


def facts(x, d):
    plain = x if d.object == "tensor" else x.get_array()
    item = plain.itemsize
    said = {"writable": bool(x.flags.writable) if HAS_READONLY else None, "exportable": True, "shape": tuple(x.shape)}
    if d.object == "sub-device":
        return {**said, "exportable": "its memory is in no context of the platform"}
    said.update(strides=tuple(step * item for step in plain.strides), itemsize=item)
    if IS_HOST and plain.size:
        base = plain.usm_data
        said.update(address=plain._pointer, allocation=(base._pointer, base._pointer + base.nbytes))
    return said


def view(d):
    plain = "x" if d.object == "tensor" else "x.get_array()"
    return f"""def source_view():
    plain = {plain}
    return plain._pointer, plain.shape, tuple(plain.itemsize * step for step in plain.strides), plain.itemsize

def allocation():
    base = {plain}.usm_data
    return base._pointer, base._pointer + base.nbytes
"""
