"""TensorFlow on the CPU: eager tensors, which nobody may write to, variables, and tensors without numbers."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")

import numpy as np
import tensorflow as tf

# Logical devices of the CPU, each with memory of its own.
DEVICES = [(1, 0), (1, 1)]
TWO = """[cpu] = tf.config.list_physical_devices('CPU')
if tf.config.get_logical_device_configuration(cpu) is None:
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
"""
exec(TWO)

VERSIONS = [("tensorflow", tf.__version__), ("numpy", np.__version__)]
CLAIMS = None
MUTABLE = False  # variables are, and their tensors are not
HAS_READONLY = False
PYTHON_DESTRUCTOR = False
MAX_NDIM = 16

STANDARD = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
STANDARD += ["float32", "float64", "complex64", "complex128"]
DTYPES = STANDARD + ["float16", "bfloat16", "float8_e5m2", "float8_e4m3fn", "int4", "uint4"]

DERIVED = {
    "variable": "x = tf.Variable(x)",
    "slice": "x = tf.stack([x, x])[1]",
    "transposed": "x = tf.transpose(x)",
    "broadcast": "x = tf.broadcast_to(x, [3, *x.shape])",
    "computed": "x = tf.identity(x)",
    "imported": "x = tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(x))",
    "text": "x = tf.constant(['a', 'b'])",
    "resource": "variable = tf.Variable(x)\nx = variable.handle",
    "variant": "x = tf.raw_ops.EmptyTensorList(element_shape=[2], max_num_elements=3, element_dtype=tf.float32)",
    "ragged": "x = tf.RaggedTensor.from_tensor(x)",
    "sparse": "x = tf.sparse.from_dense(x)",
    "traced": "kept = []\ntf.function(lambda a: kept.append(a) or a)(x)\nx = kept[0]",
}
OBJECTS = list(DERIVED)
REFUSABLE = {
    "text": "no numbers",
    "resource": "a handle",
    "variant": "any value",
    "ragged": "not one array",
    "sparse": "not strided",
    "traced": "a placeholder",
}
UNNAMED = ["float8_e5m2", "float8_e4m3fn", "int4", "uint4"]


def statements(d):
    if not d.writable:
        raise Inexpressible("TensorFlow has no read-only tensors beside others")
    if d.order != "C":
        raise Inexpressible("TensorFlow's tensors are compact")
    if d.object in ("text", "variant", "resource") and d.dtype != "float32":
        raise Inexpressible("such a tensor has no dtype of its own")
    dtype = f"tf.as_dtype({d.dtype!r})"
    source = f"np.frombuffer(block, {dtype}.as_numpy_dtype)" if d.memory else f"np.zeros({d.shape}, {dtype}.as_numpy_dtype)"
    text = "import numpy as np, tensorflow as tf\n"
    if d.device == (1, 0):
        text += f"x = tf.constant({source}.reshape({d.shape}))\n"
    else:
        text += f"{TWO}with tf.device('/CPU:1'): x = tf.identity(tf.constant({source}.reshape({d.shape})))\n"
    if d.object != "array":
        if d.object not in DERIVED:
            raise Inexpressible(f"TensorFlow has no {d.object}")
        text += DERIVED[d.object] + "\n"
    return text


def facts(x, d):
    said = {"writable": None, "exportable": REFUSABLE.get(d.object, None if d.dtype in UNNAMED else True)}
    if d.object in REFUSABLE:
        return said
    said["shape"] = tuple(x.shape)
    if d.object == "variable" or d.dtype in (*UNNAMED, "bfloat16"):
        return said
    # The buffer protocol shows the tensor's own memory.
    array = np.asarray(memoryview(x))
    if array.size:
        start = array.__array_interface__["data"][0]
        said.update(address=start, allocation=(start, start + array.nbytes), strides=array.strides)
    return said


def view(d):
    return """def source_view():
    array = np.asarray(memoryview(x))
    return array.__array_interface__["data"][0], array.shape, array.strides, array.itemsize

def allocation():
    return source_view()[0], source_view()[0] + np.asarray(memoryview(x)).nbytes
"""
