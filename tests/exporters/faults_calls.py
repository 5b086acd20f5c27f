"""Faults of versions, streams and exceptions (VER, STR, EXC)."""

import ctypes

import numpy as np

import lawful
from lawful import Exporter, kDLCPU, kDLComplex
from registry import W, bomb, breaks, is_foreign


@breaks("VER-NONE-LEGACY")
class versioned_unasked(Exporter):
    """The versioned capsule is returned to callers who did not ask for it."""

    def is_versioned(self, max_version):
        return max_version is None or super().is_versioned(max_version)


@breaks("VER-0X", W)
class versioned_for_0x(Exporter):
    """The versioned capsule is returned to a caller who can take 0.x."""

    def is_versioned(self, max_version):
        return super().is_versioned(max_version) or (max_version is not None and max_version[0] == 0)


@breaks("EXC-UNEXPECTED")
class version_0x_attributeerror(Exporter):
    """max_version (0, x) ends in AttributeError."""

    def is_versioned(self, max_version):
        if not super().is_versioned(max_version) and max_version is not None:
            return self.legacy_path
        return max_version is not None


@breaks("VER-HIGHER-MAJOR")
class version_2_refused(Exporter):
    """A caller who can take major 2 is refused."""

    def is_versioned(self, max_version):
        versioned = super().is_versioned(max_version)
        if versioned and max_version[0] > 1:
            raise BufferError("unknown major version")
        return versioned


@breaks("VER-SAME-MAJOR", W)
class version_11_refused(Exporter):
    """Of major 1 only (1, 0) is taken."""

    def is_versioned(self, max_version):
        versioned = super().is_versioned(max_version)
        if versioned and max_version[0] == 1 and max_version[1] > 0:
            raise BufferError("unknown minor version")
        return versioned


@breaks("VER-INDEPENDENT", W)
class complex_legacy_only(Exporter):
    """Complex types are refused in the versioned struct."""

    def managed(self, tensor, versioned, flags, max_version):
        if tensor.dtype.code == kDLComplex and versioned:
            raise BufferError("complex needs the legacy struct")
        return super().managed(tensor, versioned, flags, max_version)


@breaks("STR-CPU-NONE-ONLY", W)
class stream_ignored(Exporter):
    """Any stream is taken for None."""

    def check_stream(self, stream):
        pass


class DeviceError(Exporter):
    """A device that is not the CPU raises `ERROR`."""

    def choose_device(self, dl_device, versioned):
        if is_foreign(dl_device) and dl_device[0] > 0 and dl_device[0] != kDLCPU:
            raise self.ERROR("unsupported device")
        return super().choose_device(dl_device, versioned)


@breaks("EXC-DEVICE")
class device_valueerror(DeviceError):
    """A device that is not the CPU raises ValueError."""

    ERROR = ValueError


@breaks("EXC-DEVICE")
class device_runtimeerror(DeviceError):
    """A device that is not the CPU raises RuntimeError."""

    ERROR = RuntimeError


@breaks("EXC-DEVICE")
class device_keyerror(DeviceError):
    """A device that is not the CPU raises KeyError."""

    ERROR = KeyError


class Panic(BaseException):
    """As a Rust extension raises it."""


@breaks("EXC-CLASS")
class device_panics(DeviceError):
    """A device that is not the CPU raises an exception that is no Exception."""

    ERROR = Panic


@breaks("EXC-SYSTEMERROR")
class error_left_behind(Exporter):
    """An exception is set although a capsule is returned: CPython makes it a SystemError."""

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        capsule = self.answer(stream, max_version, dl_device, copy)
        if not copy:
            return capsule
        # The result is no capsule, as CPython drops it while the exception is set (see lawful.py).
        del capsule
        bomb()


@breaks("EXC-UNEXPECTED", W)
class empty_tuple_indexerror(Exporter):
    """max_version=() ends in IndexError."""

    def is_versioned(self, max_version):
        if isinstance(max_version, tuple):
            max_version[0]
        return super().is_versioned(max_version)


@breaks("EXC-NOTEXPORTABLE", W)
class type_typeerror(Exporter):
    """A type that cannot be exported raises TypeError."""

    def describe(self, dtype):
        try:
            return super().describe(dtype)
        except BufferError as error:
            raise TypeError(str(error)) from None


@breaks("EXC-STATE", also=["CAP-SOURCE-UNCHANGED"])
class refusal_writes_source(Exporter):
    """A date array that is refused has another first byte afterwards.

    Both rules ask whether the array is as it was.
    """

    def describe(self, dtype):
        source = np.ndarray.view(self.source, np.ndarray)
        if dtype.kind in "mM" and source.size and source.flags.writeable:
            ctypes.c_uint8.from_address(source.ctypes.data).value += 1
        return super().describe(dtype)
