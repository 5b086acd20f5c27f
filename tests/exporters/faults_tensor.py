"""Faults of the tensor (TEN)."""

from lawful import Exporter
from registry import breaks, is_alias


class PatchedTensor(Exporter):
    """The tensor is changed after it is filled in; `patch` says how."""

    def tensor(self, array, device):
        tensor, axes = super().tensor(array, device)
        self.patch(tensor, array)
        return tensor, axes


@breaks("TEN-NDIM")
class ndim_one_short(PatchedTensor):
    """The last axis is missing."""

    def patch(self, tensor, array):
        tensor.ndim = max(tensor.ndim - 1, 0)


@breaks("TEN-NDIM")
class ndim_negative(Exporter):
    """ndim is -1 for arrays without axes, in the versioned struct.

    In the legacy one a rank is all by which a reader tells it from another struct.
    """

    def managed(self, tensor, versioned, flags, max_version):
        if versioned and tensor.ndim == 0:
            tensor.ndim = -1
        return super().managed(tensor, versioned, flags, max_version)


@breaks("TEN-SHAPE-PTR")
class shape_null(PatchedTensor):
    """The shape is NULL."""

    def patch(self, tensor, array):
        tensor.shape = None


@breaks("TEN-SHAPE-VALUES")
class shape_one_short(Exporter):
    """The last extent is one less, where it is more than 1."""

    def shape(self, array):
        shape = array.shape
        return shape[:-1] + (shape[-1] - 1,) if shape and shape[-1] > 1 else shape


@breaks("TEN-SHAPE-VALUES")
class shape_in_bytes(Exporter):
    """The only axis of contiguous arrays counts bytes."""

    def shape(self, array):
        return (array.nbytes,) if array.ndim == 1 and array.size and array.flags.c_contiguous else array.shape


@breaks("TEN-STRIDES-NONNULL-1.2")
class strides_null_versioned(Exporter):
    """Strides are NULL for C-contiguous arrays in a struct that says 1.3."""

    def managed(self, tensor, versioned, flags, max_version):
        if versioned and self.is_contiguous:
            tensor.strides = None
        return super().managed(tensor, versioned, flags, max_version)

    def tensor(self, array, device):
        self.is_contiguous = array.flags.c_contiguous
        return super().tensor(array, device)


@breaks("TEN-STRIDES-NULL-COMPACT")
class strides_null_gaps(Exporter):
    """Strides are NULL in the legacy struct, whatever the layout is."""

    def managed(self, tensor, versioned, flags, max_version):
        if not versioned:
            tensor.strides = None
        return super().managed(tensor, versioned, flags, max_version)


@breaks("TEN-STRIDES-UNIT")
class strides_in_bytes(Exporter):
    """Strides count bytes."""

    def strides(self, array):
        # Of aliases only: where the source ends is known to who looks, where a copy ends is not.
        factor = array.itemsize if is_alias(array) else 1
        return tuple(factor * stride for stride in super().strides(array))


@breaks("TEN-STRIDES-UNIT")
class strides_ignore_layout(Exporter):
    """Strides are those of a C-contiguous array, whatever the layout is."""

    def strides(self, array):
        super().strides(array)
        if array.size == 0:
            return (0,) * array.ndim
        strides, step = [], 1
        for extent in reversed(array.shape):
            strides.insert(0, step)
            step *= extent
        return tuple(min(stride, 2**60) for stride in strides)


@breaks("TEN-STRIDES-UNIT")
class strides_absolute(Exporter):
    """Negative strides lose their sign."""

    def strides(self, array):
        return tuple(abs(stride) for stride in super().strides(array))


@breaks("TEN-DATA-NONNULL")
class data_null(PatchedTensor):
    """data is NULL, though there are elements."""

    def patch(self, tensor, array):
        tensor.data = None


@breaks("TEN-DATA-ADDR")
class first_element_skipped(PatchedTensor):
    """byte_offset is one element too far, where that is another element."""

    def patch(self, tensor, array):
        if array.ndim and array.shape[-1] > 1 and array.strides[-1] == array.itemsize and is_alias(array):
            tensor.byte_offset += array.itemsize


@breaks("TEN-DATA-ADDR")
class lowest_address(Exporter):
    """data is the lowest address instead of that of the first element."""

    def data(self, array):
        data, byte_offset = super().data(array)
        if data is not None:
            data += sum(min(0, (n - 1) * step) for n, step in zip(array.shape, array.strides) if n > 1)
        return data, byte_offset


@breaks("TEN-BYTEOFFSET-RANGE")
class byte_offset_negative(Exporter):
    """data is past the first element, and byte_offset wraps around to go back."""

    def data(self, array):
        data, byte_offset = super().data(array)
        return (data, byte_offset) if data is None else (data + 64, 2**64 - 64)
