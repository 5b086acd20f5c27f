"""A lawful DLPack exporter in plain Python: ctypes over the memory of a NumPy array.

Goes in: an array. Comes out: an object with ``__dlpack__`` and ``__dlpack_device__`` that follows the Python
array API 2025.12 and the DLPack header 1.3 on every array that NumPy can build, or refuses it with
BufferError. ``faults.py`` derives the unlawful ones from it: each step of an export is a method of its own,
so that a fault is one method that differs.

What Python cannot do: a capsule destructor that is Python code runs with the exception that is in flight set,
and CPython lets no Python function return with one set. This one takes it aside before anything else, so that
the memory is released, and puts it back, so that it is reported; it does not survive the callback
(numpy/numpy#32697, CAP-DTOR-EXC-PY).
"""

import ctypes
from ctypes import c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

import numpy as np

# ---------------------------------------------------------------------------------------------- dlpack.h 1.3

kDLCPU = 1
kDLInt, kDLUInt, kDLFloat, kDLBfloat, kDLComplex, kDLBool = 0, 1, 2, 4, 5, 6
READ_ONLY, IS_COPIED, IS_SUBBYTE_TYPE_PADDED = 1, 2, 4


class DLPackVersion(ctypes.Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32)]


class DLDevice(ctypes.Structure):
    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device", DLDevice),
        ("ndim", c_int32),
        ("dtype", DLDataType),
        ("shape", c_void_p),
        ("strides", c_void_p),
        ("byte_offset", c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("dl_tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", c_void_p)]


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [
        ("version", DLPackVersion),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("dl_tensor", DLTensor),
    ]


# ------------------------------------------------------------------------------------------------- CPython API

# Capsules are passed by address: a dying capsule must not be touched by reference counting.
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_void_p, c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, c_void_p, c_void_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_get_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_void_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_fetch_error = ctypes.pythonapi.PyErr_Fetch
_restore_error = ctypes.PYFUNCTYPE(None, c_void_p, c_void_p, c_void_p)(("PyErr_Restore", ctypes.pythonapi))


class Name:
    """A capsule's name in memory that is never freed, as the standard asks for."""

    def __init__(self, text):
        self.buffer = ctypes.create_string_buffer(text)
        self.address = ctypes.addressof(self.buffer)


LEGACY_NAME = Name(b"dltensor")
VERSIONED_NAME = Name(b"dltensor_versioned")

# ----------------------------------------------------------------------------------------- life of an export

# Every live export by the address of its managed tensor: the struct, its shape and strides, and the array that
# owns the memory. The deleter takes the entry out, and with it everything dies.
LIVE = {}


@ctypes.CFUNCTYPE(None, c_void_p)
def delete(managed):
    """The deleter of both structs: a ctypes callback takes the lock itself, so it works on any thread."""
    LIVE.pop(managed)


# The three parts of an exception that is set aside. They are made here because nothing may be made (no call
# may succeed) while an exception is in flight.
_pending = (c_void_p(), c_void_p(), c_void_p())
_pending_refs = tuple(ctypes.byref(part) for part in _pending)


def destructor_of(*names, release=delete):
    """A capsule destructor that releases the struct of a capsule that still has one of `names`."""

    @ctypes.PYFUNCTYPE(None, c_void_p)
    def destructor(capsule):
        _fetch_error(*_pending_refs)  # first of all, see the head of this file
        pending = [part.value for part in _pending]
        for name in names:
            if _is_valid(capsule, name.address):
                release(_get_pointer(capsule, name.address))
                break
        if pending[0] is not None:
            _restore_error(*pending)

    return destructor


DESTRUCTOR = destructor_of(LEGACY_NAME, VERSIONED_NAME)


def address_of(callback):
    return callback and ctypes.cast(callback, c_void_p).value


# ------------------------------------------------------------------------------------------------ the exporter

# (code, bits) by NumPy's type number, which no other type shares. Not here, so refused: long double (no IEEE
# layout here), dates, text, records, objects, and every type of other packages.
TYPES = {
    np.dtype(char).num: (code, 8 * np.dtype(char).itemsize)
    for code, chars in [
        (kDLBool, "?"),
        (kDLInt, "bhilq"),
        (kDLUInt, "BHILQ"),
        (kDLFloat, "efd"),
        (kDLComplex, "FD"),
    ]
    for char in chars
}


class Exporter:
    """Exports the memory of a NumPy array on the CPU."""

    OWN_DEVICE = (kDLCPU, 0)
    VERSION = (1, 3)
    # Of the legacy capsule and of the versioned one.
    NAMES = LEGACY_NAME, VERSIONED_NAME
    DESTRUCTOR = DESTRUCTOR

    def __init__(self, source):
        self.source = source

    def __dlpack_device__(self):
        return self.OWN_DEVICE

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self.answer(stream, max_version, dl_device, copy)

    def answer(self, stream, max_version, dl_device, copy):
        """The call after its keywords are sorted out."""
        self.check_stream(stream)
        versioned = self.is_versioned(max_version)
        device = self.choose_device(dl_device, versioned)
        self.check_copy(copy)
        array, flags = self.take(versioned, copy)
        return self.export(array, device, versioned, flags, max_version)

    # Arguments. Each of these returns what the argument asks for, or raises.

    def check_stream(self, stream):
        if stream is not None:
            raise ValueError("the CPU has no streams: stream must be None")

    def is_versioned(self, max_version):
        """Whether the caller gets the versioned struct: any major from 1 can take ours."""
        if max_version is None:
            return False
        major, _minor = pair_of_ints("max_version", max_version)
        if major < 0:
            raise BufferError("no struct is that old")
        return major >= 1

    def choose_device(self, dl_device, versioned):
        """The device to put into the tensor; `versioned` only matters to faults."""
        if dl_device is None:
            return self.OWN_DEVICE
        device = pair_of_ints("dl_device", dl_device)
        if device != (kDLCPU, 0):
            raise BufferError(f"cannot export to device {device}")
        return device

    def check_copy(self, copy):
        if copy is not None and not isinstance(copy, bool):
            raise TypeError("copy must be True, False or None")

    # Memory.

    def take(self, versioned, copy):
        """The array whose memory is exported, and the flags that say what it is."""
        # A sub-class may mean more than its memory (masked arrays); the export is of the memory.
        array = np.ndarray.view(self.source, np.ndarray)
        if copy:
            return self.duplicate(array), IS_COPIED
        return self.share(array, versioned)

    def duplicate(self, array):
        self.describe(array.dtype)  # refuses what cannot be exported before it is copied
        return np.array(array, order="C", copy=True)

    def share(self, array, versioned):
        self.describe(array.dtype)
        if not is_readonly(array):
            return array, 0
        if not versioned:
            raise BufferError("the legacy struct cannot say that memory is read-only")
        return array, READ_ONLY

    # Metadata.

    def describe(self, dtype):
        """(code, bits, lanes)"""
        triple = TYPES.get(dtype.num)
        if triple is None:
            raise BufferError(f"DLPack has no type for {dtype}")
        if not dtype.isnative:
            raise BufferError("DLPack has no swapped byte order")
        return (*triple, 1)

    def shape(self, array):
        return array.shape

    def strides(self, array):
        """In elements; what an axis of one element or an array of none has there means nothing."""
        if array.size == 0:
            return (0,) * array.ndim
        item = array.itemsize
        for extent, stride in zip(array.shape, array.strides):
            if extent > 1 and stride % item:
                raise BufferError("a stride is no multiple of the item size")
        return tuple(stride // item for stride in array.strides)

    def data(self, array):
        """(data, byte_offset) of the first element; NULL if there is none."""
        if array.size == 0:
            return None, 0
        return array.__array_interface__["data"][0], 0

    # The struct and its capsule.

    def export(self, array, device, versioned, flags, max_version):
        tensor, axes = self.tensor(array, device)
        managed = self.managed(tensor, versioned, flags, max_version)
        address = ctypes.addressof(managed)
        LIVE[address] = (managed, axes, array, self.source)
        try:
            return self.capsule(address, versioned)
        except BaseException:
            del LIVE[address]
            raise

    def tensor(self, array, device):
        """The tensor, and the block of shape and strides that it points to."""
        shape, strides = self.shape(array), self.strides(array)
        ndim = len(shape)
        axes = (c_int64 * (2 * ndim))(*shape, *strides)
        data, byte_offset = self.data(array)
        tensor = DLTensor(
            data=data,
            device=DLDevice(*device),
            ndim=ndim,
            dtype=DLDataType(*self.describe(array.dtype)),
            # Both may be NULL when there is no axis (header 1.2).
            shape=ctypes.addressof(axes) if ndim else None,
            strides=ctypes.addressof(axes) + 8 * ndim if ndim else None,
            byte_offset=byte_offset,
        )
        return tensor, axes

    def managed(self, tensor, versioned, flags, max_version):
        """`max_version` is for faults: the version is our own, whatever the caller can take."""
        deleter = address_of(delete)
        if not versioned:
            return DLManagedTensor(dl_tensor=tensor, deleter=deleter)
        return DLManagedTensorVersioned(
            version=DLPackVersion(*self.VERSION), deleter=deleter, flags=flags, dl_tensor=tensor
        )

    def capsule(self, address, versioned):
        return _new_capsule(address, self.NAMES[versioned].address, address_of(self.DESTRUCTOR))


def is_readonly(array):
    # Not `flags.writeable`: reading that already warns for arrays of `broadcast_arrays`.
    return array.__array_interface__["data"][1]


def pair_of_ints(keyword, value):
    if not isinstance(value, tuple):
        raise TypeError(f"{keyword} must be a tuple")
    if len(value) != 2:
        raise ValueError(f"{keyword} must have two elements")
    for element in value:
        if not isinstance(element, int) or isinstance(element, bool):
            raise TypeError(f"{keyword} must hold ints")
    return (int(value[0]), int(value[1]))
