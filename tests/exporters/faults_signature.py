"""Faults of the signature (SIG)."""

import enum

from lawful import Exporter
from registry import W, breaks, leak


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


@breaks("STR-NONE", also=["SIG-NONE-NEUTRAL"])
class stream_none_refused(Exporter):
    """stream=None is refused: leave it out.

    So is the call with all four as None.
    """

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


@breaks("SIG-ORDER-FREE", probes=["reordered"])
class keyword_order_matters(Exporter):
    """dl_device is refused in front of max_version."""

    def __dlpack__(self, **given):
        names = list(given)
        if not set(names) <= {"stream", "max_version", "dl_device", "copy"}:
            raise TypeError("unknown keyword")
        if {"max_version", "dl_device"} <= set(names) and names.index("dl_device") < names.index("max_version"):
            raise BufferError("max_version must be known before dl_device")
        return self.answer(*sort_keywords(given))


@breaks("SIG-ORDER-FREE", also=["EXC-UNEXPECTED"], probes=["reordered"])
class keyword_names_by_address(Exporter):
    """Keyword names made at run time are not known.

    A case whose own names are made at run time has nothing to compare with but what the standard allows.
    """

    KEYWORDS = ("stream", "max_version", "dl_device", "copy")

    def __dlpack__(self, **given):
        for name in given:
            if not any(name is known for known in self.KEYWORDS):
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
