"""dpctl.tensor on the OpenCL runtime for the CPU: arrays in unified shared memory of a oneAPI device."""

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
import dpctl.tensor as dpt

VERSIONS = [("dpctl", dpctl.__version__)]
CLAIMS = getattr(dpt, "__array_api_version__", None)
MUTABLE = True
HAS_READONLY = True
PYTHON_DESTRUCTOR = False
DEVICES = [(14, 0)]
MAX_NDIM = 32

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "float32", "float64", "complex64", "complex128"]

USM = {"shared": "Shared", "host-memory": "Host"}
DERIVED = {
    "slice": "x = dpt.stack([x, x])[1]",
    "reversed": "x = x[..., ::-1] if x.ndim else x",
    "transposed": "x = dpt.permute_dims(x, tuple(reversed(range(x.ndim))))",
    "broadcast": "x = dpt.broadcast_to(x, (3, *x.shape))",
    "imported": "x = dpt.from_dlpack(x)",
    "computed": "x = dpt.copy(x)",
}
OBJECTS = [*USM, *DERIVED]
# The memory of a CPU's own device is the host's.
IS_HOST = dpctl.SyclDevice().is_cpu


def statements(d):
    lines = [DRIVER + "import dpctl.memory, dpctl.tensor as dpt"]
    if any(stride % d.itemsize for stride in d.strides) or d.offset % d.itemsize:
        raise Inexpressible("dpctl counts in elements")
    strides = tuple(stride // d.itemsize for stride in d.strides)
    kind = USM.get(d.object, "Device")
    if not d.memory:
        if d.order != "C":
            raise Inexpressible("dpctl lays out empty arrays as it likes")
        lines += [f"x = dpt.zeros({d.shape}, dtype={d.dtype!r}, usm_type={kind.lower()!r})"]
    else:
        lines += [f"memory_ = dpctl.memory.MemoryUSM{kind}({len(d.memory)})", "memory_.copy_from_host(block)"]
        offset = d.offset // d.itemsize
        lines += [f"x = dpt.usm_ndarray({d.shape}, dtype={d.dtype!r}, buffer=memory_, strides={strides}, offset={offset})"]
    if d.object != "array" and d.object not in USM:
        if d.object not in DERIVED:
            raise Inexpressible(f"dpctl has no {d.object}")
        lines += [DERIVED[d.object]]
    if not d.writable:
        lines += ["x.flags.writable = False"]
    # Kernels run on: until then the memory holds what it likes.
    lines += ["x.sycl_queue.wait()"]
    return "\n".join(lines) + "\n"


def facts(x, d):
    item = x.itemsize
    said = {"writable": bool(x.flags.writable), "exportable": True, "shape": tuple(x.shape)}
    said.update(strides=tuple(step * item for step in x.strides), itemsize=item)
    if IS_HOST and x.size:
        base = x.usm_data
        said.update(address=x._pointer, allocation=(base._pointer, base._pointer + base.nbytes))
    return said


def view(d):
    return """def source_view():
    return x._pointer, x.shape, tuple(x.itemsize * step for step in x.strides), x.itemsize

def allocation():
    return x.usm_data._pointer, x.usm_data._pointer + x.usm_data.nbytes
"""
