"""Exporters that end or hang their process under one circumstance, and are NumPy's own otherwise."""

import ctypes
import os
import signal
import subprocess
import sys
import time

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]


class Deadly:
    def __init__(self, description):
        self.x = description.numpy

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, *positional, **keywords):
        if self.x.dtype.itemsize == 0:
            raise BufferError("NumPy would divide by zero")
        self.strike(self.x)
        return self.x.__dlpack__(*positional, **keywords)


def crash():
    ctypes.string_at(8)


class Crashes(Deadly):
    """Two faults that have nothing to do with each other."""

    def strike(self, x):
        if not x.flags.writeable:
            crash()
        if x.dtype == "complex64":
            crash()


# ------------------------------------------------------------------------------------------------- ways to die


def hang():
    time.sleep(1_000_000)


def spin():
    """Holds the interpreter's lock: a callback into Python would never get it."""
    sleep = ctypes.PyDLL(None).sleep
    while True:
        sleep(1_000_000)


def leave():
    os._exit(0)


def leave_politely():
    sys.exit("enough")


def divide():
    getattr(libc, "raise")(signal.SIGFPE)


def crash_with_a_stolen_handler():
    libc.signal(signal.SIGSEGV, libc._exit)
    crash()


def give_up():
    """As Python does where it is called without its lock: it silences `faulthandler` before it aborts."""
    ctypes.pythonapi.Py_FatalError(b"enough")


def exhaust_the_stack():
    """In C, where Python's limit of recursion does not count: glibc compiles a regular expression recursively, one
    level for each parenthesis."""
    libc.regcomp(ctypes.create_string_buffer(4096), b"(" * 3_000_000, 1)


def exhaust_the_memory():
    hoard = []
    while True:
        hoard.append(b"x" * (16 << 20))


def be_killed():
    subprocess.run(["kill", "-KILL", str(os.getpid())])
    time.sleep(10)


def free_twice():
    block = libc.malloc(64)
    libc.free(block)
    libc.free(block)


# By dtype.
WAYS = {
    "int8": crash,
    "int16": divide,
    "int32": os.abort,
    "int64": crash_with_a_stolen_handler,
    "uint8": leave,
    "uint16": leave_politely,
    "uint32": hang,
    "uint64": spin,
    "float16": give_up,
    "float64": exhaust_the_stack,
    "complex64": exhaust_the_memory,
    "complex128": be_killed,
}


def way_of(dtype):
    return WAYS.get(dtype.name) if dtype.isnative else None


class DiesInEveryWay(Deadly):
    """In another way for each of twelve dtypes."""

    def strike(self, x):
        way = way_of(x.dtype)
        if way:
            way()


def Survives(description):
    """The same without the arrays that die of it."""
    is_deadly = way_of(description.numpy.dtype) not in (None, leave_politely)
    return None if is_deadly else DiesInEveryWay(description)


class Alive(Deadly):
    def strike(self, x):
        pass


class Hangs(Deadly):
    def strike(self, x):
        if x.dtype == "int16":
            hang()


class Exits(Deadly):
    def strike(self, x):
        if x.dtype == "int16":
            leave()


class IsKilled(Deadly):
    def strike(self, x):
        if x.dtype == "int16":
            be_killed()


class Aborts(Deadly):
    def strike(self, x):
        if x.dtype == "int16":
            os.abort()


class FreesTwice(Deadly):
    def strike(self, x):
        if x.dtype == "int16":
            free_twice()


class ExportsTheFreed(Deadly):
    """The memory of a small copy that is gone when the call returns: NumPy keeps such blocks for itself."""

    def __dlpack__(self, *positional, **keywords):
        result = super().__dlpack__(*positional, **keywords)
        if self.x.dtype == "int16" and self.x.size:
            copy = self.x.copy()
            data = ctypes.cast(pointer(result, name(result)), ctypes.POINTER(ctypes.c_void_p))
            # The versioned struct has its tensor behind version, context, deleter and flags.
            data[4 if name(result) == b"dltensor_versioned" else 0] = copy.ctypes.data
        return result

    def strike(self, x):
        pass


name = ctypes.pythonapi.PyCapsule_GetName
name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
