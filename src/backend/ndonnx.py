"""ndonnx: arrays of a graph to come, which refuse every export."""

import warnings

warnings.simplefilter("ignore")  # it misses a runtime that nothing here needs

import ndonnx as nd

VERSIONS = [("ndonnx", nd.__version__)]
CLAIMS = getattr(nd, "__array_api_version__", None)
MUTABLE = True
HAS_READONLY = False
PYTHON_DESTRUCTOR = False
MAX_NDIM = 32

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
OBJECTS = ["lazy", "computed"]


def statements(d):
    if d.order != "C" or not d.writable:
        raise Inexpressible("ndonnx says nothing of memory")
    if d.object == "lazy":
        return f"import ndonnx as nd\nx = nd.argument(shape={d.shape}, dtype=nd.{d.dtype})\n"
    text = f"{d.statements}import ndonnx as nd\nx = nd.asarray(x)\n"
    if d.object == "computed":
        text += "x = nd.positive(x)\n" if d.dtype != "bool" else "x = ~x\n"
    return text


def facts(x, d):
    return {"writable": None, "exportable": "a value of a graph has no memory to tell of"}
