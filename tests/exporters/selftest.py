"""Checks the exporters by themselves, without the oracle: ``python selftest.py`` says `ok` or fails.

The lawful one round-trips through NumPy, refuses what it must and leaks nothing; every faulty one still works
as a program: it answers or raises, nothing else happens.
"""

import ctypes
import gc
import sys
import threading

import numpy as np

import faults
import lawful
from lawful import LIVE, Exporter


def arrays():
    """One array of each kind that an export can meet."""
    base = np.arange(24, dtype="f4").reshape(2, 3, 4)
    yield base
    yield base[::-1, :, ::2]
    yield np.asfortranarray(base)
    yield np.broadcast_to(np.float64(2), (3, 2))
    yield np.array(7, dtype="i2")
    yield np.zeros((3, 0, 2), "c16")
    yield np.frombuffer(bytearray(17), "i4", offset=1)
    yield np.lib.stride_tricks.as_strided(np.zeros(3), (1,), (2**60,))
    for dtype in "?bhilqBHILQefdFD":
        yield np.ones((3,), dtype)
    readonly = np.arange(3.0)
    readonly.flags.writeable = False
    yield readonly
    yield np.ma.masked_array([1.0, 2.0], mask=[0, 1])
    yield np.matrix([[1, 2], [3, 4]])


def refused():
    """Arrays that DLPack cannot describe."""
    for dtype in ["O", "U3", "S3", "V0", "V8", "M8[s]", "m8[s]", "g", "G", ">i4", "f4,i8"]:
        yield np.zeros((2,), dtype)
    yield np.zeros(4, "i1,f4")["f1"]
    yield np.lib.stride_tricks.as_strided(np.zeros(8, "V0"), (4,), (8,))


def test_round_trip():
    for source in arrays():
        expected = np.ndarray.view(source, np.ndarray)
        for arguments in [{}, {"copy": True}, {"copy": False}, {"device": "cpu"}]:
            taken = np.from_dlpack(Exporter(source), **arguments)
            assert taken.dtype == expected.dtype and taken.shape == expected.shape, (source, arguments)
            assert taken.tobytes() == expected.tobytes(), (source, arguments)
            shares = source.size > 0 and np.may_share_memory(taken, expected)
            assert shares == (source.size > 0 and not arguments.get("copy")), (source, arguments)
    del taken
    assert not LIVE


def test_refusals():
    for source in refused():
        for arguments in [{}, {"max_version": (1, 0)}, {"copy": False}]:
            expect(BufferError, source, **arguments)
    x = np.zeros(3)
    expect(BufferError, x, dl_device=(2, 0))
    expect(BufferError, x, dl_device=(1, 1))
    expect(TypeError, x, dl_device=[1, 0])
    expect(ValueError, x, dl_device=(1, 0, 0))
    expect(TypeError, x, max_version=(1.0, 0))
    expect(TypeError, x, max_version=1)
    expect(ValueError, x, stream=-1)
    expect(TypeError, x, copy="yes")
    expect(TypeError, x, foo=1)
    x.flags.writeable = False
    expect(BufferError, x)
    assert not LIVE


def expect(error, source, **arguments):
    try:
        Exporter(source).__dlpack__(**arguments)
    except Exception as raised:
        assert type(raised) is error, (source.dtype, arguments, raised)
    else:
        raise AssertionError((source.dtype, arguments))


def test_life():
    """Nothing grows over a thousand exports, taken, dropped or failed; the memory outlives the source."""
    source = np.arange(1000.0)
    exporter = Exporter(source)
    version, device = (1, 2), (1, 0)

    def counts():
        gc.collect()
        return [sys.getrefcount(each) for each in (source, exporter, version, device)] + [len(LIVE)]

    def round_():
        exporter.__dlpack__()
        exporter.__dlpack__(max_version=version, dl_device=device, copy=True)
        np.from_dlpack(exporter)
        try:
            exporter.__dlpack__(max_version=version, dl_device=(2, 0))
        except BufferError:
            pass

    round_()
    before = counts()
    for _ in range(1000):
        round_()
    assert counts() == before, (counts(), before)

    taken = np.from_dlpack(Exporter(np.arange(5.0)))
    gc.collect()
    assert taken.tolist() == [0, 1, 2, 3, 4]
    del taken
    assert not LIVE


def test_destructor():
    """Consumed capsules are left alone, the deleter works on any thread, and a pending error is no obstacle."""
    capsule = Exporter(np.zeros(3)).__dlpack__()
    pointer = lawful._get_pointer(id(capsule), lawful.LEGACY_NAME.address)
    used = lawful.Name(b"used_dltensor")
    ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), ctypes.c_void_p(used.address))
    del capsule
    assert pointer in LIVE
    managed = lawful.DLManagedTensor.from_address(pointer)
    delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(managed.deleter)  # gives the lock away
    thread = threading.Thread(target=delete, args=[pointer])
    thread.start()
    thread.join()
    assert not LIVE

    hook, sys.unraisablehook = sys.unraisablehook, lambda unraisable: None
    try:
        list(failing_iterator())  # drops the list, and the capsule in it, with the error set
    except (KeyError, SystemError):
        pass
    sys.unraisablehook = hook
    assert not LIVE


def failing_iterator():
    yield Exporter(np.zeros(3)).__dlpack__()
    raise KeyError("in flight")


CALLS = [
    {},
    {"copy": True},
    {"copy": False, "max_version": (1, 0)},
    {"max_version": (1, 99)},
    {"max_version": (0, 8)},
    {"max_version": (2, 0), "copy": True},
    {"max_version": ()},
    {"dl_device": (1, 0)},
    {"dl_device": (2, 0)},
    {"stream": 1},
]


def test_faults_run():
    """A fault is one step that differs: the rest must not fall over."""
    programming = (AssertionError, NameError, ZeroDivisionError)
    for name, fault in faults.FAULTS.items():
        for make in (arrays, refused):
            for source in make():
                exporter = fault.factory(source.copy() if fault.rule == "CAP-SOURCE-UNCHANGED" else source)
                for arguments in CALLS:
                    try:
                        exporter.__dlpack__(**arguments)
                    except programming as error:
                        raise AssertionError(f"{name} on {source.dtype} {arguments}") from error
                    except (Exception, faults.Panic):
                        pass


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
    print("ok")
