"""Faulty exporters: each is the lawful one with one rule of the catalogue broken.

A class here is a factory: ``faults.no_destructor(x)`` exports the NumPy array ``x``. ``FAULTS`` lists them by
name, and ``python faults.py`` prints the list as lines of

    name TAB rule TAB grade TAB also TAB probes TAB description

grade    what the oracle is to say under profile ``spec``: ``violation`` or ``warning``
also     other rules that the same fault breaks at grade violation, with ``;``: where one cause cannot but be
         seen by two rules (the class says why)
probes   names of the probes under which the fault is one fault, with ``;``; empty: all; ``none``: no probe
"""

import ctypes
import enum

import numpy as np

import lawful
from lawful import (
    IS_COPIED,
    IS_SUBBYTE_TYPE_PADDED,
    LIVE,
    READ_ONLY,
    DLManagedTensor,
    DLManagedTensorVersioned,
    Exporter,
    Name,
    address_of,
    destructor_of,
    is_readonly,
    kDLBfloat,
    kDLBool,
    kDLComplex,
    kDLCPU,
    kDLFloat,
    kDLInt,
    kDLUInt,
    pair_of_ints,
)

V, W = "violation", "warning"


class Fault:
    def __init__(self, rule, grade, factory, also, probes):
        self.rule, self.grade, self.factory, self.also, self.probes = rule, grade, factory, also, probes

    @property
    def description(self):
        return self.factory.__doc__.split("\n\n")[0].replace("\n", " ")


FAULTS = {}


def breaks(rule, grade=V, *, also=(), probes=()):
    def register(factory):
        FAULTS[factory.__name__] = Fault(rule, grade, factory, also, probes)
        return factory

    return register


# ------------------------------------------------------------------------------------------------ CAP: capsule


@breaks("CAP-TYPE")
class returns_address(Exporter):
    """Returns the address of the struct and no capsule."""

    def capsule(self, address, versioned):
        # Nobody will release it: nothing is kept alive.
        del LIVE[address]
        return address


# A name that is NULL.
NULL_NAME = type("NullName", (), {"address": None})


@breaks("CAP-NAME-KNOWN")
class capsule_name_unknown(Exporter):
    """The versioned capsule is named after its version."""

    NAMES = lawful.LEGACY_NAME, Name(b"dltensor_v1")
    DESTRUCTOR = destructor_of(*NAMES)


@breaks("CAP-NAME-KNOWN")
class capsule_name_null(Exporter):
    """The legacy capsule has no name."""

    NAMES = NULL_NAME, lawful.VERSIONED_NAME
    DESTRUCTOR = destructor_of(*NAMES)


@breaks("CAP-NAME-KNOWN")
class capsule_name_used(Exporter):
    """The legacy capsule bears the name of a consumed one."""

    NAMES = Name(b"used_dltensor"), lawful.VERSIONED_NAME
    DESTRUCTOR = destructor_of(*NAMES)


@breaks("CAP-STRUCT-MATCHES-NAME")
class versioned_struct_named_legacy(Exporter):
    """The versioned struct under the name of the legacy one."""

    NAMES = lawful.LEGACY_NAME, lawful.LEGACY_NAME


@breaks("CAP-STRUCT-MATCHES-NAME")
class legacy_struct_named_versioned(Exporter):
    """The legacy struct under the name of the versioned one, when that was asked for.

    Not for empty arrays: their struct begins with NULL, which reads as version 0.0 and is another rule's.
    """

    def managed(self, tensor, versioned, flags, max_version):
        if tensor.data is None:
            return super().managed(tensor, versioned, flags, max_version)
        # Room behind the struct, as a reader who believes the name reads 80 bytes.
        room = (DLManagedTensor * 2)()
        room[0] = super().managed(tensor, False, flags, max_version)
        return room if versioned else room[0]


@breaks("CAP-DTOR-PRESENT")
class no_destructor(Exporter):
    """The capsule has no destructor."""

    DESTRUCTOR = None


@breaks("CAP-DTOR-UNCONSUMED")
class destructor_releases_nothing(Exporter):
    """The destructor of an unconsumed capsule does nothing: every export nobody takes is leaked."""

    DESTRUCTOR = destructor_of()


@breaks("CAP-DTOR-UNCONSUMED")
class export_leaks_source(Exporter):
    """Every export takes a reference to the source that nobody gives back."""

    def export(self, *arguments):
        leak(self, self.source)
        return super().export(*arguments)


@breaks("CAP-DTOR-UNCONSUMED", probes=["none"])
class copy_leaks_array(Exporter):
    """The array made for copy=True is never released."""

    def duplicate(self, array):
        copy = super().duplicate(array)
        leak(copy, self, self.source)
        return copy


def leak(*objects):
    for each in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))


def bomb():
    """An object whose end sets MemoryError without a function call that CPython could check."""
    no_memory = ctypes.cast(ctypes.pythonapi.PyErr_NoMemory, ctypes.c_void_p)
    return lawful._new_capsule(1, None, no_memory.value)


@breaks("CAP-DTOR-EXC-CLEAN")
class destructor_sets_exception(Exporter):
    """The destructor releases the struct, and an exception is set when it is done."""

    @ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
    def DESTRUCTOR(capsule):
        for name in (lawful.LEGACY_NAME, lawful.VERSIONED_NAME):
            if lawful._is_valid(capsule, name.address):
                LIVE.pop(lawful._get_pointer(capsule, name.address))
        # The callback drops its result after CPython has checked it.
        return bomb()


@breaks("CAP-EXC-NO-LEAK", probes=["none"])
class failing_call_leaks(Exporter):
    """A call that is refused keeps a reference to the source."""

    def answer(self, *arguments):
        try:
            return super().answer(*arguments)
        except Exception:
            leak(self, self.source)
            raise


@breaks("CAP-REPEAT", probes=["repeat"])
class second_call_refused(Exporter):
    """The second of two equal calls is refused."""

    seen = None

    def answer(self, *arguments):
        if self.seen == arguments:
            self.seen = None
            raise BufferError("exported already")
        capsule = super().answer(*arguments)
        self.seen = arguments
        return capsule


@breaks("CAP-REPEAT", probes=["repeat"])
class second_call_differs(Exporter):
    """The second of two equal calls describes a copy in another place."""

    seen = None

    def take(self, versioned, copy):
        array, flags = super().take(versioned, copy)
        if not copy and array.size and self.seen == (versioned, copy):
            self.seen = None
            return self.duplicate(array), flags | IS_COPIED
        self.seen = (versioned, copy)
        return array, flags


@breaks("CAP-SOURCE-UNCHANGED", probes=["none"])
class export_writes_source(Exporter):
    """The export changes the first byte of the source."""

    def take(self, versioned, copy):
        array, flags = super().take(versioned, copy)
        source = np.ndarray.view(self.source, np.ndarray)
        if source.size and not is_readonly(source):
            first = ctypes.c_uint8.from_address(source.__array_interface__["data"][0])
            first.value += 1
        return array, flags


@breaks("CAP-SOURCE-UNCHANGED", probes=["none"])
class export_transposes_source(Exporter):
    """The export turns the source's axes around, in place."""

    def export(self, *arguments):
        capsule = super().export(*arguments)
        if type(self.source) is np.ndarray and self.source.ndim > 1 and self.source.flags.c_contiguous:
            self.source.shape = self.source.shape[::-1]
        return capsule


# ----------------------------------------------------------------------------------------- MGT: managed tensor


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


# ------------------------------------------------------------------------------------------------- TEN: tensor


def is_alias(array):
    return not array.flags.owndata


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


# ---------------------------------------------------------------------------------------------- DTY: data type


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


# ------------------------------------------------------------------------------------------------- DEV: device


class OtherDevice(Exporter):
    """Says `OWN` from the device method, and takes that very tuple and (1, 0) for the CPU."""

    def __dlpack_device__(self):
        return self.OWN

    def choose_device(self, dl_device, versioned):
        if dl_device is self.OWN:
            return self.OWN_DEVICE
        return super().choose_device(dl_device, versioned)


@breaks("DEV-TUPLE", W)
class device_list(OtherDevice):
    """The device method returns a list."""

    OWN = [kDLCPU, 0]


@breaks("DEV-TUPLE")
class device_number(OtherDevice):
    """The device method returns a number."""

    OWN = kDLCPU


@breaks("DEV-ID-ELEM")
class device_id_none(OtherDevice):
    """The device's id is None."""

    OWN = (kDLCPU, None)


@breaks("DEV-ID-ELEM", W)
class device_id_bool(OtherDevice):
    """The device's id is False."""

    OWN = (kDLCPU, False)


@breaks("DEV-TYPE-ELEM")
class device_type_name(OtherDevice):
    """The device's type is a word."""

    OWN = ("cpu", 0)


@breaks("DEV-TYPE-ELEM", W)
class device_type_enum(OtherDevice):
    """The device's type is a plain Enum member."""

    OWN = (enum.Enum("Device", {"CPU": kDLCPU}).CPU, 0)


class OwnDevice(Exporter):
    """Says `OWN_DEVICE` everywhere; a caller who asks for (1, 0) gets that."""

    def choose_device(self, dl_device, versioned):
        if dl_device is not None and pair_of_ints("dl_device", dl_device) == self.OWN_DEVICE:
            return self.OWN_DEVICE
        return super().choose_device(dl_device, versioned)


@breaks("DEV-TYPE-KNOWN")
class device_type_unused(OwnDevice):
    """The device's type is a number that no device has."""

    OWN_DEVICE = (5, 0)


@breaks("DEV-ID-ZERO")
class device_id_one(OwnDevice):
    """The CPU's id is 1."""

    OWN_DEVICE = (kDLCPU, 1)


@breaks("DEV-ID-NONNEG")
class device_id_negative(OwnDevice):
    """A device's id is -1."""

    OWN_DEVICE = (3, -1)


@breaks("DEV-CONSISTENT")
class device_of_capsule_differs(Exporter):
    """The tensor names a device that the device method does not, unless one was asked for."""

    def choose_device(self, dl_device, versioned):
        device = super().choose_device(dl_device, versioned)
        return (2, 0) if dl_device is None else device


@breaks("DEV-STABLE")
class device_changes(Exporter):
    """The device method answers otherwise after an export."""

    exported = False

    def __dlpack_device__(self):
        return (3, 0) if self.exported else (kDLCPU, 0)

    def export(self, *arguments):
        capsule = super().export(*arguments)
        self.exported = True
        return capsule


@breaks("DEV-DUNDER-RAISES", W)
class device_method_raises(Exporter):
    """The device method raises ValueError."""

    def __dlpack_device__(self):
        raise ValueError("no device")


def is_foreign(dl_device):
    """A well-formed device that is not the CPU."""
    return dl_device is not None and pair_of_ints("dl_device", dl_device) != (kDLCPU, 0)


@breaks("DEV-HONOUR")
class dl_device_ignored(Exporter):
    """Any well-formed device is taken for the CPU."""

    def choose_device(self, dl_device, versioned):
        return self.OWN_DEVICE if is_foreign(dl_device) else super().choose_device(dl_device, versioned)


@breaks("DEV-HONOUR")
class dl_device_ignored_legacy(Exporter):
    """Any well-formed device is taken for the CPU on the legacy path."""

    def choose_device(self, dl_device, versioned):
        if is_foreign(dl_device) and not versioned:
            return self.OWN_DEVICE
        return super().choose_device(dl_device, versioned)


# --------------------------------------------------------------------------------------------------- COPY, RO


@breaks("COPY-TRUE-IGNORED")
class copy_true_ignored(Exporter):
    """copy=True gives an alias."""

    def take(self, versioned, copy):
        return super().take(versioned, None)


@breaks("COPY-TRUE-IGNORED")
class copy_true_ignored_legacy(Exporter):
    """copy=True gives an alias on the legacy path."""

    def take(self, versioned, copy):
        return super().take(versioned, copy if versioned else None)


@breaks("COPY-TRUE-SOLE")
class copies_shared(Exporter):
    """All copies are one copy."""

    kept = None

    def duplicate(self, array):
        if self.kept is None:
            self.kept = super().duplicate(array)
        return self.kept


@breaks("COPY-TRUE-WRITABLE", W)
class copy_readonly(Exporter):
    """A copy is said to be read-only."""

    def take(self, versioned, copy):
        array, flags = super().take(versioned, copy)
        return array, flags | (READ_ONLY if copy else 0)


@breaks("COPY-TRUE-REFUSED", W)
class copy_true_refused(Exporter):
    """copy=True is refused with BufferError."""

    def duplicate(self, array):
        raise BufferError("cannot copy")


@breaks("COPY-TRUE-REFUSED")
class copy_true_not_implemented(Exporter):
    """copy=True is refused with NotImplementedError."""

    def duplicate(self, array):
        self.describe(array.dtype)
        raise NotImplementedError("cannot copy")


@breaks("COPY-FLAG-SET")
class copy_not_flagged(Exporter):
    """A copy is not flagged as one."""

    def take(self, versioned, copy):
        array, flags = super().take(versioned, copy)
        return array, flags & ~IS_COPIED


@breaks("COPY-FLAG-CLEAR")
class alias_flagged(Exporter):
    """An alias is flagged as a copy."""

    def share(self, array, versioned):
        array, flags = super().share(array, versioned)
        return array, flags | IS_COPIED


@breaks("COPY-FALSE-ALIAS")
class copy_false_copies(Exporter):
    """copy=False copies, and says so in the flags."""

    def take(self, versioned, copy):
        array, flags = super().take(versioned, copy)
        return (array, flags) if copy is not False else (self.duplicate(array), flags | IS_COPIED)


@breaks("COPY-NONE-ALIAS")
class copy_none_copies(Exporter):
    """copy=None copies, though copy=False gives an alias."""

    def take(self, versioned, copy):
        array, flags = super().take(versioned, copy)
        return (array, flags) if copy is not None else (self.duplicate(array), flags | IS_COPIED)


@breaks("COPY-FALSE-BE")
class copy_false_valueerror(Exporter):
    """copy=False raises ValueError for a layout that copy=True can export."""

    def answer(self, stream, max_version, dl_device, copy):
        try:
            return super().answer(stream, max_version, dl_device, copy)
        except BufferError as error:
            if copy is False and "stride" in str(error):
                raise ValueError("a copy would be needed") from None
            raise


@breaks("COPY-FALSE-CONSISTENT")
class copy_false_contiguous_only(Exporter):
    """copy=False is refused for arrays with gaps, though copy=None gives an alias of them."""

    def take(self, versioned, copy):
        array, flags = super().take(versioned, copy)
        if versioned and copy is False and array.size and not array.flags.forc:
            raise BufferError("not contiguous")
        return array, flags


@breaks("COPY-SAME-DEVICE-NEUTRAL")
class own_device_refused(Exporter):
    """dl_device is refused, even the array's own."""

    def choose_device(self, dl_device, versioned):
        if dl_device is not None:
            raise BufferError("cannot change device")
        return self.OWN_DEVICE


@breaks("COPY-VALUES")
class copy_stale(Exporter):
    """A copy holds zeros."""

    def duplicate(self, array):
        return np.zeros_like(super().duplicate(array))


@breaks("RO-FLAG-SET")
class readonly_not_flagged(Exporter):
    """An alias of a read-only array is not flagged."""

    def take(self, versioned, copy):
        array, flags = super().take(versioned, copy)
        return array, flags & ~READ_ONLY


@breaks("RO-FLAG-CLEAR", W)
class readonly_always(Exporter):
    """Every alias is said to be read-only."""

    def share(self, array, versioned):
        array, flags = super().share(array, versioned)
        return array, flags | READ_ONLY


@breaks("RO-LEGACY-COPY", W)
class readonly_legacy_copy_refused(Exporter):
    """A copy of a read-only array is refused on the legacy path."""

    def take(self, versioned, copy):
        if copy and not versioned:
            self.share(np.ndarray.view(self.source, np.ndarray), versioned)
        return super().take(versioned, copy)


# ---------------------------------------------------------------------------------------------- SIG: signature


@breaks("SIG-KWONLY", W)
class stream_positional(Exporter):
    """stream can be given without its name."""

    def __dlpack__(self, stream=None, *, max_version=None, dl_device=None, copy=None):
        return self.answer(stream, max_version, dl_device, copy)


@breaks("SIG-STREAM")
class stream_missing(Exporter):
    """There is no keyword `stream`."""

    def __dlpack__(self, *, max_version=None, dl_device=None, copy=None):
        return self.answer(None, max_version, dl_device, copy)


@breaks("STR-NONE")
class stream_none_refused(Exporter):
    """stream=None is refused: leave it out."""

    ABSENT = object()

    def __dlpack__(self, *, stream=ABSENT, max_version=None, dl_device=None, copy=None):
        if stream is None:
            raise ValueError("None is no stream")
        return self.answer(None if stream is self.ABSENT else stream, max_version, dl_device, copy)


@breaks("SIG-UNKNOWN-KW", W)
class unknown_keyword_valueerror(Exporter):
    """An unknown keyword raises ValueError."""

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None, **others):
        if others:
            raise ValueError("unknown keyword")
        return self.answer(stream, max_version, dl_device, copy)


def sort_keywords(given):
    return [given.get(keyword) for keyword in ("stream", "max_version", "dl_device", "copy")]


@breaks("SIG-ORDER-FREE")
class keyword_order_matters(Exporter):
    """dl_device is refused in front of max_version."""

    def __dlpack__(self, **given):
        names = list(given)
        if not set(names) <= {"stream", "max_version", "dl_device", "copy"}:
            raise TypeError("unknown keyword")
        if {"max_version", "dl_device"} <= set(names) and names.index("dl_device") < names.index("max_version"):
            raise BufferError("max_version must be known before dl_device")
        return self.answer(*sort_keywords(given))


@breaks("SIG-ORDER-FREE")
class keyword_names_by_address(Exporter):
    """Keyword names made at run time are not known."""

    NAMES = ("stream", "max_version", "dl_device", "copy")

    def __dlpack__(self, **given):
        for name in given:
            if not any(name is known for known in self.NAMES):
                raise TypeError(f"unexpected keyword argument {name!r}")
        return self.answer(*sort_keywords(given))


@breaks("SIG-ARG-UNCHANGED")
class argument_leaked(Exporter):
    """The tuples that are passed are never given back."""

    def answer(self, stream, max_version, dl_device, copy):
        # The device method's own tuple is a constant of the class: no argument object of the caller.
        leak(*(each for each in (max_version, dl_device) if isinstance(each, tuple)))
        return super().answer(stream, max_version, dl_device, copy)


@breaks("SIG-DEVICE-ENUM", W)
class device_enum_refused(Exporter):
    """A device type that is an IntEnum member is refused."""

    def choose_device(self, dl_device, versioned):
        if isinstance(dl_device, tuple) and any(isinstance(each, enum.IntEnum) for each in dl_device):
            raise BufferError("the device type must be an int")
        return super().choose_device(dl_device, versioned)


@breaks("SIG-NONE-NEUTRAL")
class all_none_refused(Exporter):
    """max_version=None is refused: leave it out."""

    ABSENT = object()

    def __dlpack__(self, *, stream=None, max_version=ABSENT, dl_device=None, copy=None):
        if max_version is None:
            raise BufferError("no version")
        return self.answer(stream, None if max_version is self.ABSENT else max_version, dl_device, copy)


# ------------------------------------------------------------------------------------------------ VER, STR, EXC


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


@breaks("VER-0X")
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
class complex_versioned_only(Exporter):
    """Complex types are refused on the legacy path."""

    def managed(self, tensor, versioned, flags, max_version):
        if tensor.dtype.code == kDLComplex and not versioned:
            raise BufferError("complex needs the versioned struct")
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


@breaks("EXC-STATE", probes=["plain"])
class failure_sticks(Exporter):
    """After a call that was refused every other call is refused."""

    failed = False

    def answer(self, *arguments):
        if self.failed:
            raise BufferError("the last call failed")
        try:
            return super().answer(*arguments)
        except Exception:
            self.failed = True
            raise


if __name__ == "__main__":
    for name, fault in FAULTS.items():
        print(name, fault.rule, fault.grade, ";".join(fault.also), ";".join(fault.probes), fault.description, sep="\t")
