"""Faults of the data type (DTY)."""

import numpy as np

from lawful import Exporter, IS_COPIED, kDLBfloat, kDLBool, kDLComplex, kDLFloat, kDLInt, kDLUInt
from registry import W, breaks


class PatchedType(Exporter):
    """`patch` gets (code, bits, lanes) and returns what is said instead."""

    def describe(self, dtype):
        return self.patch(*super().describe(dtype))


@breaks("DTY-MATCH")
class signed_as_unsigned(PatchedType):
    """Signed integers go out as unsigned ones."""

    def patch(self, code, bits, lanes):
        return (kDLUInt if code == kDLInt else code), bits, lanes


@breaks("DTY-MATCH")
class float16_as_bfloat16(PatchedType):
    """float16 goes out as bfloat16."""

    def patch(self, code, bits, lanes):
        return (kDLBfloat if (code, bits) == (kDLFloat, 16) else code), bits, lanes


@breaks("DTY-SIZE")
class bits_are_bytes(PatchedType):
    """bits counts bytes, in integers and floats of more than one."""

    def patch(self, code, bits, lanes):
        return code, (bits // 8 if code in (kDLInt, kDLUInt, kDLFloat) and bits > 8 else bits), lanes


@breaks("DTY-LANES")
class lanes_zero(PatchedType):
    """lanes is 0."""

    def patch(self, code, bits, lanes):
        return code, bits, 0


@breaks("DTY-COMPLEX")
class complex_bits_of_one_part(PatchedType):
    """bits of a complex type counts one part."""

    def patch(self, code, bits, lanes):
        return code, (bits // 2 if code == kDLComplex else bits), lanes


class PatchedBool(Exporter):
    """bool goes out as uint8 in one of the structs."""

    def managed(self, tensor, versioned, flags, max_version):
        if versioned is self.VERSIONED and tensor.dtype.code == kDLBool:
            tensor.dtype.code = kDLUInt
        return super().managed(tensor, versioned, flags, max_version)


@breaks("DTY-BOOL")
class bool_as_uint8(PatchedBool):
    """bool goes out as uint8 in the versioned struct."""

    VERSIONED = True


@breaks("DTY-BOOL", W)
class bool_as_uint8_legacy(PatchedBool):
    """bool goes out as uint8 in the legacy struct."""

    VERSIONED = False


@breaks("DTY-ENDIAN")
class swapped_bytes(Exporter):
    """Arrays of swapped byte order go out as they are."""

    def describe(self, dtype):
        return super().describe(dtype.newbyteorder("="))


@breaks("DTY-ENDIAN", W)
class swapped_converted(Exporter):
    """Arrays of swapped byte order go out as native copies, flagged so."""

    def share(self, array, versioned):
        if array.dtype.isnative:
            return super().share(array, versioned)
        return self.duplicate(array), IS_COPIED

    def duplicate(self, array):
        native = array.dtype.newbyteorder("=")
        self.describe(native)
        return np.array(array, dtype=native, order="C", copy=True)

    def answer(self, stream, max_version, dl_device, copy):
        if copy is False and not self.source.dtype.isnative:
            raise BufferError("native values need a copy")
        return super().answer(stream, max_version, dl_device, copy)


@breaks("DTY-FLOAT-IEEE")
class long_double(Exporter):
    """The padded long double of x86 goes out as a float of 128 bits."""

    def describe(self, dtype):
        if dtype == np.longdouble and dtype.itemsize == 16 and dtype.isnative:
            return kDLFloat, 128, 1
        return super().describe(dtype)


@breaks("DTY-BITS-TRUNC")
class bits_truncated(Exporter):
    """A complex of two long doubles goes out, and its 256 bits become 0."""

    def describe(self, dtype):
        if dtype == np.clongdouble and dtype.itemsize == 32 and dtype.isnative:
            return kDLComplex, 256 % 256, 1
        return super().describe(dtype)


@breaks("DTY-MATCH")
class dates_as_int64(Exporter):
    """Dates go out as int64."""

    def describe(self, dtype):
        if dtype.kind in "mM" and dtype.isnative:
            return kDLInt, 64, 1
        return super().describe(dtype)


@breaks("DTY-STANDARD-ALL", W)
class uint64_refused(Exporter):
    """uint64 is refused."""

    def describe(self, dtype):
        code, bits, lanes = super().describe(dtype)
        if (code, bits) == (kDLUInt, 64):
            raise BufferError("no uint64 here")
        return code, bits, lanes
