"""Exporters that end or hang their process under one circumstance, and are NumPy's own otherwise."""

import ctypes
import os
import time


class Deadly:
    def __init__(self, description):
        self.x = description.numpy

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, **keywords):
        if self.x.dtype.itemsize == 0:
            raise BufferError("NumPy would divide by zero")
        self.strike(self.x)
        return self.x.__dlpack__(**keywords)


def crash():
    ctypes.string_at(8)


class Crashes(Deadly):
    """Two faults that have nothing to do with each other."""

    def strike(self, x):
        if not x.flags.writeable:
            crash()
        if x.dtype == "complex64":
            crash()


class Hangs(Deadly):
    def strike(self, x):
        if x.dtype == "int16":
            time.sleep(1_000_000)


class Spins(Deadly):
    """Holds the interpreter's lock while it does: a callback into Python would never get it."""

    def strike(self, x):
        if x.dtype == "int16":
            sleep = ctypes.PyDLL(None).sleep
            while True:
                sleep(1_000_000)


class Exits(Deadly):
    def strike(self, x):
        if x.dtype == "int16":
            os._exit(0)


class Aborts(Deadly):
    def strike(self, x):
        if x.dtype == "int16":
            os.abort()


class Exhausts(Deadly):
    """Uses up the stack in C, where Python's limit of recursion does not count."""

    def strike(self, x):
        if x.dtype == "int16":
            # glibc compiles a regular expression recursively, one level for each parenthesis.
            ctypes.CDLL(None).regcomp(ctypes.create_string_buffer(4096), b"(" * 3_000_000, 1)
