"""Faults of the managed tensor (MGT)."""

import ctypes

import lawful
from lawful import Exporter, IS_SUBBYTE_TYPE_PADDED, LIVE
from registry import W, breaks


@breaks("MGT-VERSION-OWN", also=["CAP-STRUCT-MATCHES-NAME"])
class version_echo(Exporter):
    """The struct's version is the one that was asked for.

    An echo of (100, 3) is beyond the versions by which a reader tells a versioned struct from another one.
    """

    def managed(self, tensor, versioned, flags, max_version):
        managed = super().managed(tensor, versioned, flags, max_version)
        if versioned:
            managed.version = lawful.DLPackVersion(*(max(0, min(part, 2**32 - 1)) for part in max_version))
        return managed


@breaks("MGT-VERSION-MAJOR")
class version_zero(Exporter):
    """The versioned struct says version 0.8."""

    VERSION = (0, 8)


@breaks("MGT-FLAGS-KNOWN")
class flags_uninitialised(Exporter):
    """Bits without a meaning are set in the flags."""

    def managed(self, tensor, versioned, flags, max_version):
        return super().managed(tensor, versioned, flags | 0x7F3A_0000_0000, max_version)


@breaks("MGT-FLAG-SUBBYTE", W)
class flag_subbyte(Exporter):
    """IS_SUBBYTE_TYPE_PADDED is set for types of whole bytes."""

    def managed(self, tensor, versioned, flags, max_version):
        return super().managed(tensor, versioned, flags | IS_SUBBYTE_TYPE_PADDED, max_version)


@breaks("MGT-DELETER-NULL", W)
class deleter_null(Exporter):
    """No deleter, though the memory is on the heap; the capsule's destructor does the work."""

    def managed(self, tensor, versioned, flags, max_version):
        managed = super().managed(tensor, versioned, flags, max_version)
        managed.deleter = None
        return managed


@breaks("MGT-ALIGNED")
class struct_misaligned(Exporter):
    """The managed tensor lies 4 bytes off its alignment."""

    def export(self, array, device, versioned, flags, max_version):
        tensor, axes = self.tensor(array, device)
        managed = self.managed(tensor, versioned, flags, max_version)
        size = ctypes.sizeof(managed)
        room = (ctypes.c_uint64 * (size // 8 + 1))()
        address = ctypes.addressof(room) + 4
        ctypes.memmove(address, ctypes.addressof(managed), size)
        LIVE[address] = (room, axes, array, self.source)
        return self.capsule(address, versioned)


@breaks("MGT-ALIGNED")
class shape_misaligned(Exporter):
    """The shape lies 4 bytes off its alignment."""

    def tensor(self, array, device):
        tensor, axes = super().tensor(array, device)
        if tensor.ndim:
            size = 8 * tensor.ndim
            room = (ctypes.c_uint64 * (tensor.ndim + 1))()
            ctypes.memmove(ctypes.addressof(room) + 4, ctypes.addressof(axes), size)
            tensor.shape = ctypes.addressof(room) + 4
            axes = (axes, room)
        return tensor, axes
