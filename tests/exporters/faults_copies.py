"""Faults of copies and read-only memory (COPY, RO)."""

import numpy as np

from lawful import Exporter, IS_COPIED, READ_ONLY
from registry import W, breaks


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
        if copy is not False:
            return array, flags
        self.strides(array)  # what cannot be shared is refused
        return self.duplicate(array), flags | IS_COPIED


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
