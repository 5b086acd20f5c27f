"""Faults of the capsule (CAP)."""

import ctypes

import numpy as np

import lawful
from lawful import DLManagedTensor, Exporter, IS_COPIED, LIVE, Name, destructor_of, is_readonly
from registry import bomb, breaks, is_alias, leak


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
        if self.seen == repr(arguments):
            self.seen = None
            raise BufferError("exported already")
        capsule = super().answer(*arguments)
        self.seen = repr(arguments)
        return capsule


@breaks("CAP-REPEAT", probes=["repeat"])
class second_call_differs(Exporter):
    """The second of two equal calls describes a copy in another place."""

    seen = None

    def take(self, versioned, copy):
        array, flags = super().take(versioned, copy)
        if copy is None and array.size and self.seen == (versioned, copy):
            self.seen = None
            return self.duplicate(array), flags | IS_COPIED
        self.seen = (versioned, copy)
        return array, flags


@breaks("CAP-SOURCE-UNCHANGED", probes=["none"])
class export_writes_source(Exporter):
    """An alias is handed out and the first byte of the source changed."""

    def export(self, array, *arguments):
        capsule = super().export(array, *arguments)
        if is_alias(array) and array.size and not is_readonly(array):
            ctypes.c_uint8.from_address(array.__array_interface__["data"][0]).value += 1
        return capsule


@breaks("CAP-SOURCE-UNCHANGED", probes=["none"])
class export_transposes_source(Exporter):
    """The first call, if it is an export, turns the source's axes around, in place."""

    called = False

    def answer(self, *arguments):
        first, self.called = not self.called, True
        capsule = super().answer(*arguments)
        if first and type(self.source) is np.ndarray and self.source.ndim > 1 and self.source.flags.c_contiguous:
            self.source.shape = self.source.shape[::-1]
        return capsule
