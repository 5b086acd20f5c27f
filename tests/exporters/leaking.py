"""Exporters that keep memory which nothing of Python or NumPy counts: some for ever, some as caches do."""

import collections
import ctypes

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
# A managed tensor with its shape.
STRUCT = 112


class Leaking:
    def __init__(self, description):
        self.x = description.numpy

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, **keywords):
        if self.x.dtype.itemsize == 0:
            raise BufferError("NumPy would divide by zero")
        result = self.x.__dlpack__(**keywords)
        self.keep()
        return result


class LosesAStruct(Leaking):
    """The struct of every export of an array with three axes."""

    def keep(self):
        if self.x.ndim == 3:
            libc.malloc(STRUCT)


class LosesWhenItRaises(Leaking):
    """What was allocated before the arguments were looked at, in every call that is refused."""

    def __dlpack__(self, **keywords):
        try:
            return super().__dlpack__(**keywords)
        except BufferError:
            libc.malloc(STRUCT)
            raise

    def keep(self):
        pass


class KeepsTheLast(Leaking):
    """A list of spare structs."""

    spare = collections.deque()

    def keep(self):
        self.spare.append(libc.malloc(STRUCT))
        if len(self.spare) > 1000:
            libc.free(self.spare.popleft())


class GrowsATable(Leaking):
    """A table by dtype and shape, made at the first export of each."""

    table = {}

    def keep(self):
        key = self.x.dtype, self.x.shape
        if key not in self.table:
            self.table[key] = libc.malloc(4096)
