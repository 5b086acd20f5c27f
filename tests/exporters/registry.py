"""The list of faulty exporters, and what several of them do."""

import ctypes

import lawful
from lawful import kDLCPU, pair_of_ints

V, W = "violation", "warning"


class Fault:
    def __init__(self, rule, grade, factory, also, probes):
        self.rule, self.grade, self.factory, self.also, self.probes = rule, grade, factory, also, probes

    @property
    def description(self):
        return self.factory.__doc__.split("\n\n")[0].replace("\n", " ")


FAULTS = {}


def is_alias(array):
    """Whether what is exported is the source's memory: a copy is an array of its own."""
    return not array.flags.owndata


def breaks(rule, grade=V, *, also=(), probes=()):
    def register(factory):
        FAULTS[factory.__name__] = Fault(rule, grade, factory, also, probes)
        return factory

    return register


def leak(*objects):
    for each in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))


def bomb():
    """An object whose end sets MemoryError without a function call that CPython could check."""
    no_memory = ctypes.cast(ctypes.pythonapi.PyErr_NoMemory, ctypes.c_void_p)
    return lawful._new_capsule(1, None, no_memory.value)


def is_foreign(dl_device):
    """A well-formed device that is not the CPU."""
    return dl_device is not None and pair_of_ints("dl_device", dl_device) != (kDLCPU, 0)
