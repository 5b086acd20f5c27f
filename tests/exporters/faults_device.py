"""Faults of the device (DEV)."""

import enum

from lawful import Exporter, kDLCPU, pair_of_ints
from registry import W, breaks, is_foreign


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

    def choose_device(self, dl_device, versioned):
        device = super().choose_device(dl_device, versioned)
        if device != self.OWN_DEVICE:
            raise BufferError("only the own device")
        return device


@breaks("DEV-ID-ZERO")
class device_id_one(OwnDevice):
    """The CPU's id is 1."""

    OWN_DEVICE = (kDLCPU, 1)


@breaks("DEV-ID-NONNEG")
class device_id_negative(OwnDevice):
    """A device's id is -1."""

    OWN_DEVICE = (3, -1)


@breaks("DEV-CONSISTENT", also=["COPY-SAME-DEVICE-NEUTRAL"])
class device_of_capsule_differs(Exporter):
    """The tensor names a device that the device method does not, unless one was asked for.

    So the device that the method names is not neutral; if it were, DEV-HONOUR would be broken.
    """

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
