"""Arrays whose type has a C exchange API, and one planted fault in it for each rule of the family XCH.

``exchange.lawful(x)`` wraps the NumPy array ``x``. The table is C (``exchange.c``, compiled at import), because
no Python callback can leave an exception set. Every other factory has one fault; ``python exchange.py`` lists
them as lines of

    name TAB rule TAB grade TAB description

with ``lawful`` as the rule of those that must not be accused.
"""

import ctypes
import hashlib
import os
import subprocess
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def compiled():
    """The shared object, made once for each content of its source."""
    source = os.path.join(HERE, "exchange.c")
    with open(source, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()[:16]
    path = os.path.join(tempfile.gettempdir(), f"dlpack-exchange-{os.getuid()}-{digest}.so")
    if not os.path.exists(path):
        made = f"{path}.{os.getpid()}"
        command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-o", made, source]
        subprocess.run(command, check=True)
        os.replace(made, path)
    return path


LIBRARY = ctypes.PyDLL(compiled())
LIBRARY.exchange_capsule.restype = ctypes.py_object
LIBRARY.exchange_table.restype = ctypes.c_void_p
LIBRARY.exchange_set.argtypes = [ctypes.c_char_p, ctypes.py_object]
POINTER = ctypes.pythonapi.PyCapsule_GetPointer
POINTER.restype = ctypes.c_void_p
POINTER.argtypes = [ctypes.py_object, ctypes.c_char_p]
DELETER = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


class Array:
    """A NumPy array with a description that the C functions read."""

    def __init__(self, source):
        self.source = source
        try:
            self.export = self.__dlpack__(max_version=(1, 3))
        except BufferError:
            self.export = None
        self._description = 0
        if self.export is not None:
            self._description = POINTER(self.export, b"dltensor_versioned")

    def __dlpack__(self, **arguments):
        if not self.source.itemsize:  # It kills NumPy 2.4.
            raise BufferError("items without bytes")
        return self.source.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.source.__dlpack_device__()


class Imported(Array):
    """An array over the memory of a tensor that it owns."""

    runs = 1

    def __init__(self, managed):
        code, bits, lanes = (ctypes.c_uint8.from_address(managed + at).value for at in (52, 53, 54))
        device, axes = (ctypes.c_int32.from_address(managed + at).value for at in (40, 48))
        if device != 1 or (code, bits, lanes) != (2, 32, 1) or axes != 1:
            raise BufferError("not expressible")
        data = ctypes.c_void_p.from_address(managed + 32).value
        shape = ctypes.c_void_p.from_address(managed + 56).value
        length = ctypes.c_int64.from_address(shape).value
        memory = (ctypes.c_float * length).from_address(data)
        self.deleter = ctypes.c_void_p.from_address(managed + 16).value
        self.managed = managed
        super().__init__(np.frombuffer(memory, dtype="float32"))

    def __del__(self):
        for _ in range(self.runs if getattr(self, "deleter", None) else 0):
            DELETER(self.deleter)(self.managed)


class Renewing(type):
    """A type that makes its capsule anew at each look-up."""

    @property
    def __dlpack_c_exchange_api__(cls):
        return LIBRARY.exchange_capsule()


NEW, OLD = "__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__"
FAULTS = {}


def plant(name, rule, grade, description, on_type="capsule", adopt=None, runs=1):
    """Defines the factory ``name``. C faults go by the same name; the others say what is on the type."""

    def factory(source):
        source = getattr(source, "numpy", source)
        kind, imported = TYPES[name] if name in TYPES else make()
        LIBRARY.exchange_set(name.encode(), adopt or imported)
        x = kind(source)
        if on_type == "instance":
            setattr(x, NEW, LIBRARY.exchange_capsule())
        return x

    def make():
        LIBRARY.exchange_set(name.encode(), Imported)
        table = LIBRARY.exchange_table()
        members = {
            "capsule": lambda: {NEW: LIBRARY.exchange_capsule()},
            "both": lambda: {NEW: LIBRARY.exchange_capsule(), OLD: table},
            "other old": lambda: {NEW: LIBRARY.exchange_capsule(), OLD: table + 8},
            "old": lambda: {OLD: table},
            "int": lambda: {NEW: table},
            "text": lambda: {NEW: "dlpack_exchange_api"},
            "property": lambda: {NEW: property(lambda x: LIBRARY.exchange_capsule())},
        }
        on = members.get(on_type, dict)()
        meta = Renewing if on_type == "renewed" else type
        kind = meta("Array", (Array,), on)
        # What is made of a tensor is of the type that has the table.
        imported = meta("Imported", (Imported, kind), {"runs": runs})
        TYPES[name] = kind, imported
        return TYPES[name]

    FAULTS[name] = rule, grade, description
    globals()[name] = factory


TYPES = {}
V, W, I = "violation", "warning", "info"

plant("lawful", "lawful", "", "the table of DLPack 1.3")
plant("both_names", "lawful", "", "the old name beside the new one, for one table", on_type="both")
plant("no_view", "lawful", "", "no dltensor_from_py_object_no_sync")
plant("older_tables", "lawful", "", "an older table behind prev_api")
plant("newer_major", "lawful", "", "a table of major version 2 before one of version 1")

plant("on_instance", "XCH-ON-TYPE", V, "the attribute is the instance's", on_type="instance")
plant("a_property", "XCH-ON-TYPE", V, "the attribute is a property", on_type="property")
plant("other_name", "XCH-CAPSULE", V, "a capsule with another name")
plant("an_int", "XCH-CAPSULE", V, "an int under the new name", on_type="int")
plant("a_text", "XCH-CAPSULE", V, "a str", on_type="text")
plant("old_form", "XCH-CAPSULE", I, "only the int of DLPack 1.2", on_type="old")
plant("two_tables", "XCH-OLD-NAME", I, "another table under the old name", on_type="other old")
plant("moves", "XCH-STATIC", W, "a new table at each look-up", on_type="renewed")
plant("dies", "XCH-STATIC", V, "a table that dies with its capsule", on_type="renewed")
plant("changes_table", "XCH-CONST", V, "a table that counts its calls")
plant("major_zero", "XCH-VERSION", V, "major version 0")
plant("minor_one", "XCH-VERSION", W, "version (1, 1)")
plant("cycle", "XCH-PREV", V, "prev_api leads back")
plant("wild_prev", "XCH-PREV", V, "prev_api leads nowhere")
plant("rising", "XCH-PREV", W, "an older table that is newer")
plant("no_allocator", "XCH-FN-NONNULL", V, "managed_tensor_allocator is NULL")
plant("no_stream", "XCH-FN-NONNULL", V, "current_work_stream is NULL")
plant("error_on_success", "XCH-RET", V, "0 with an exception set")
plant("silent_failure", "XCH-RET", V, "-1 without an exception")
plant("silent_stream", "XCH-RET", V, "-1 without an exception for a device that is not there")
plant("stream_error_on_success", "XCH-RET", V, "0 with an exception set, from the stream")
plant("out_set_on_failure", "XCH-RET-DOC", W, "a pointer after a failure")
plant("null_strides", "XCH-FROMPY-STRUCT", V, "strides are NULL")
plant("wrong_shape", "XCH-FROMPY-STRUCT", V, "an extent too large")
plant("wrong_dtype", "XCH-FROMPY-STRUCT", V, "another dtype")
plant("unknown_flag", "XCH-FROMPY-STRUCT", V, "a flag that nobody defined")
plant("major_two", "XCH-FROMPY-STRUCT", V, "a struct of version 2")
plant("read_only", "XCH-FROMPY-EQUIV", V, "READ_ONLY the other way round than from __dlpack__")
plant("leaks", "XCH-FROMPY-OWNED", V, "the deleter keeps the array")
plant("extra_reference", "XCH-FROMPY-OWNED", V, "the export takes two references")
plant("same_struct", "XCH-FROMPY-OWNED", W, "one struct for all callers")
plant("disturbs", "XCH-FROMPY-OWNED", V, "a second export changes the first")
plant("deleter_raises", "XCH-FROMPY-OWNED", W, "the deleter leaves an exception")
plant("wrong_exception", "XCH-FROMPY-BE", W, "RuntimeError for what cannot be described")
plant("view_wrong_address", "XCH-DLT-VIEW", V, "the view begins one element later")
plant("view_keeps", "XCH-DLT-VIEW", V, "the view takes a reference")
plant("view_scratch", "XCH-DLT-LIFETIME", V, "strides in memory that the next call overwrites")
plant("view_unwritten_offset", "XCH-DLT-ALLWRITTEN", V, "byte_offset is not written")
plant("view_unwritten_device", "XCH-DLT-ALLWRITTEN", V, "the device is not written")
plant("view_scalar_unwritten", "XCH-DLT-ALLWRITTEN", W, "shape and strides are not written without axes")
plant("no_cpu_stream", "XCH-STREAM-CPU", W, "an error for the CPU's stream")
plant("stream_not_written", "XCH-STREAM-CPU", W, "the CPU's stream is not written")
plant("other_stream", "XCH-STREAM-OTHER", I, "a stream for a device that is not there")
plant("never_deletes", "XCH-TOPY-STEAL", V, "the deleter never runs", runs=0)
plant("deletes_twice", "XCH-TOPY-STEAL", V, "the deleter runs twice", runs=2)
plant("deletes_refused_twice", "XCH-TOPY-STEAL", V, "the deleter runs twice for a refused tensor")
plant("makes_an_other", "XCH-TOPY-NEWREF", V, "an object of another type", adopt=Imported)
plant("import_no_object", "XCH-TOPY-NEWREF", V, "success without an object")
plant("deletes_refused", "XCH-TOPY-FAIL", I, "a refused tensor is deleted")
plant("refuses_null_deleter", "XCH-TOPY-NULLDEL", V, "a tensor without a deleter is refused")
plant("accepts_major_two", "XCH-TOPY-MAJOR", V, "a tensor of version 2 is taken")
plant("copies_strides", "XCH-ALLOC-PROTO", V, "the prototype's strides are read")
plant("panic_on_offset", "XCH-ALLOC-PROTO", V, "the prototype's byte_offset is read")
plant("allocates_read_only", "XCH-ALLOC-RESULT", V, "READ_ONLY memory")
plant("allocates_bytes", "XCH-ALLOC-RESULT", V, "another dtype")
plant("no_scalars", "XCH-ALLOC-RESULT", V, "no arrays without axes")
plant("overflow", "XCH-ALLOC-RESULT", V, "2**64 elements are none")
plant("no_set_error", "XCH-ALLOC-ERR", V, "-1 without SetError")
plant("set_error_and_zero", "XCH-ALLOC-ERR", V, "SetError and 0")
plant("set_error_on_success", "XCH-ALLOC-ERR", V, "SetError and an array")
plant("set_error_twice", "XCH-ALLOC-ERR", W, "SetError twice")

if __name__ == "__main__":
    for name, row in FAULTS.items():
        print(name, *row, sep="\t")
