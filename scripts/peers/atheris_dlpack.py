"""The nearest thing that exists in Python: Atheris decodes the bytes, ctypes checks the struct.

It does far less than this project: contiguous arrays of a few dtypes, no metamorphic calls, no ledger.
"""

import atheris
import ctypes
import sys

import numpy as np

DTYPES = [np.dtype(name) for name in ("f4", "f8", "i1", "i4", "i8", "u1", "u2", "?", "c8", "f2", "O")]
VERSIONS = [None, (1, 0), (1, 1), (2, 0), (0, 8)]
COPIES = [None, True, False]
DEVICES = [None, (1, 0), (2, 0), (10, 0)]

api = ctypes.pythonapi
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_GetName.restype = ctypes.c_char_p
api.PyCapsule_GetName.argtypes = [ctypes.py_object]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


@atheris.instrument_func
def one(data):
    source = data[:8].ljust(8, b"\0")
    shape = tuple(byte % 4 for byte in source[:source[0] % 4])
    array = np.ndarray(shape, DTYPES[source[4] % len(DTYPES)])
    arguments = {}
    if (version := VERSIONS[source[5] % len(VERSIONS)]) is not None:
        arguments["max_version"] = version
    if (copy := COPIES[source[6] % len(COPIES)]) is not None:
        arguments["copy"] = copy
    if (device := DEVICES[source[7] % len(DEVICES)]) is not None:
        arguments["dl_device"] = device
    try:
        capsule = array.__dlpack__(**arguments)
    except BufferError:
        return
    name = api.PyCapsule_GetName(capsule)
    pointer = api.PyCapsule_GetPointer(capsule, name)
    tensor = Tensor.from_address(pointer + (32 if name == b"dltensor_versioned" else 0))
    assert tensor.ndim == array.ndim and tensor.device_type == 1
    assert tuple(tensor.shape[axis] for axis in range(tensor.ndim)) == array.shape


atheris.Setup(sys.argv, one)
atheris.Fuzz()
