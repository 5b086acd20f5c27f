/* A table of the C exchange API for the arrays of exchange.py, lawful unless a fault is switched on.
 * Written from the specification; Python's functions are declared here so that no header is needed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct _object PyObject;
extern PyObject *PyExc_BufferError, *PyExc_ValueError, *PyExc_RuntimeError, *PyExc_KeyError;
extern void PyErr_SetString(PyObject *, const char *);
extern PyObject *PyErr_Occurred(void);
extern void PyErr_Clear(void);
extern PyObject *PyObject_GetAttrString(PyObject *, const char *);
extern PyObject *PyObject_CallMethod(PyObject *, const char *, const char *, ...);
extern PyObject *PyObject_CallFunction(PyObject *, const char *, ...);
extern void *PyLong_AsVoidPtr(PyObject *);
extern void *PyCapsule_GetPointer(PyObject *, const char *);
extern int PyCapsule_SetName(PyObject *, const char *);
extern PyObject *PyCapsule_New(void *, const char *, void (*)(PyObject *));
extern void Py_IncRef(PyObject *);
extern void Py_DecRef(PyObject *);
extern void PyErr_Fetch(PyObject **, PyObject **, PyObject **);
extern void PyErr_Restore(PyObject *, PyObject *, PyObject *);

typedef struct {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} Tensor;

typedef struct Managed {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct Managed *);
    uint64_t flags;
    Tensor tensor;
} Managed;

typedef void (*SetError)(void *, const char *, const char *);

typedef struct Table {
    uint32_t major, minor;
    struct Table *prev;
    int (*allocate)(Tensor *, Managed **, void *, SetError);
    int (*from_py)(PyObject *, Managed **);
    int (*to_py)(Managed *, PyObject **);
    int (*view)(PyObject *, Tensor *);
    int (*stream)(int32_t, int32_t, void **);
} Table;

static Table table;
static char fault[64];
/* The Python function that makes an array of a struct's address. */
static PyObject *adopt;

static int is(const char *name) { return strcmp(fault, name) == 0; }

/* An exported struct with what it keeps alive and whose deleter releases it. */
typedef struct {
    Managed managed;
    int64_t shape[64], strides[64];
    PyObject *array;
} Owned;

/* The first of the exports that live. */
static Owned *first;

static void release(Managed *managed) {
    Owned *owned = managed->context;
    if (owned == first) first = NULL;
    if (first && is("disturbs")) first->managed.tensor.byte_offset += 4;
    if (!is("leaks")) Py_DecRef(owned->array);
    if (is("deleter_raises")) PyErr_SetString(PyExc_ValueError, "deleter");
    free(owned);
}

static void keep(Managed *managed) { (void)managed; }

/* The array's description, which exchange.py keeps beside it; NULL with BufferError where it has none. */
static Managed *description(PyObject *array) {
    PyObject *address = PyObject_GetAttrString(array, "_description");
    if (!address) return NULL;
    void *found = PyLong_AsVoidPtr(address);
    Py_DecRef(address);
    if (!found && !PyErr_Occurred()) {
        PyErr_SetString(is("wrong_exception") ? PyExc_RuntimeError : PyExc_BufferError, "not expressible");
    }
    return found;
}

static int from_py(PyObject *array, Managed **out) {
    Managed *source = description(array);
    if (!source) {
        if (is("silent_failure")) PyErr_Clear();
        if (is("out_set_on_failure")) *out = (Managed *)(uintptr_t)64;
        return -1;
    }
    Owned *owned = calloc(1, sizeof *owned);
    static Owned shared;
    if (is("same_struct")) {
        free(owned);
        owned = &shared;
    }
    owned->managed = *source;
    owned->managed.context = owned;
    owned->managed.deleter = release;
    Tensor *tensor = &owned->managed.tensor;
    size_t axes = (size_t)tensor->ndim;
    memcpy(owned->shape, tensor->shape, axes * 8);
    memcpy(owned->strides, tensor->strides, axes * 8);
    tensor->shape = axes ? owned->shape : NULL;
    tensor->strides = axes ? owned->strides : NULL;
    owned->array = array;
    Py_IncRef(array);
    if (is("same_struct")) owned->managed.deleter = keep;
    if (is("same_struct")) Py_DecRef(array);
    if (is("extra_reference")) Py_IncRef(array);
    if (is("null_strides")) tensor->strides = NULL;
    if (is("wrong_shape") && axes) tensor->shape[0] += 1;
    if (is("wrong_dtype")) tensor->bits = 16;
    if (is("unknown_flag")) owned->managed.flags |= 256;
    if (is("major_two")) owned->managed.major = 2;
    if (is("read_only")) owned->managed.flags ^= 1;
    if (is("changes_table")) table.minor += 1;
    if (is("error_on_success")) PyErr_SetString(PyExc_ValueError, "left behind");
    if (!first) first = owned;
    *out = &owned->managed;
    return 0;
}

static int view(PyObject *array, Tensor *out) {
    Managed *source = description(array);
    if (!source) return -1;
    Tensor tensor = source->tensor;
    if (is("view_unwritten_offset")) {
        memcpy(out, &tensor, 40);
        return 0;
    }
    if (is("view_unwritten_device")) tensor.device_type = tensor.device_id = (int32_t)0xa5a5a5a5;
    static int64_t scratch[2][64];
    static int turn;
    if (is("view_scratch") && tensor.ndim) {
        turn = !turn;
        memcpy(scratch[turn], tensor.strides, (size_t)tensor.ndim * 8);
        memset(scratch[!turn], 0, sizeof scratch[0]);
        tensor.strides = scratch[turn];
    }
    if (is("view_keeps")) Py_IncRef(array);
    if (is("view_wrong_address")) tensor.data = (char *)tensor.data + 4;
    *out = tensor;
    if (is("view_scalar_unwritten") && !tensor.ndim) memset(&out->shape, 0xa5, 16);
    return 0;
}

static int to_py(Managed *managed, PyObject **out) {
    if (managed->major != 1 && !is("accepts_major_two")) {
        if (is("deletes_refused_twice")) {
            managed->deleter(managed);
            managed->deleter(managed);
        }
        if (is("deletes_refused")) managed->deleter(managed);
        PyErr_SetString(PyExc_BufferError, "another major version");
        return -1;
    }
    if (!managed->deleter && is("refuses_null_deleter")) {
        PyErr_SetString(PyExc_ValueError, "no deleter");
        return -1;
    }
    PyObject *made = PyObject_CallFunction(adopt, "K", (unsigned long long)(uintptr_t)managed);
    if (!made) return -1;
    if (is("import_no_object")) {
        Py_DecRef(made);
        made = NULL;
    }
    *out = made;
    return 0;
}

static void free_allocated(Managed *managed) { free(managed->context); }

static int fail(void *context, SetError set_error, const char *kind, const char *message) {
    if (!is("no_set_error")) set_error(context, kind, message);
    if (is("set_error_twice")) set_error(context, kind, message);
    return is("set_error_and_zero") ? 0 : -1;
}

static int allocate(Tensor *prototype, Managed **out, void *context, SetError set_error) {
    Tensor tensor = *prototype;
    if (is("panic_on_offset") && tensor.byte_offset) return fail(context, set_error, "ValueError", "offset");
    if (tensor.device_type != 1 || tensor.device_id)
        return fail(context, set_error, "BufferError", "no such device");
    if (tensor.code > 17) return fail(context, set_error, "BufferError", "no such dtype");
    if (tensor.ndim < 0 || tensor.ndim > 64) return fail(context, set_error, "BufferError", "no such rank");
    if (!tensor.ndim && is("no_scalars")) return fail(context, set_error, "BufferError", "no axes");
    uint64_t bytes = (uint64_t)(tensor.bits * tensor.lanes + 7) / 8;
    for (int axis = 0; axis < tensor.ndim; axis++) {
        int64_t extent = tensor.shape[axis];
        if (extent < 0) return fail(context, set_error, "ValueError", "negative extent");
        if (__builtin_mul_overflow(bytes, (uint64_t)extent, &bytes) && !is("overflow"))
            return fail(context, set_error, "MemoryError", "too large");
    }
    if (bytes > ((uint64_t)1 << 40)) return fail(context, set_error, "MemoryError", "too large");
    Owned *owned = calloc(1, sizeof *owned + bytes + 64);
    if (!owned) return fail(context, set_error, "MemoryError", "no memory");
    if (is("set_error_on_success")) set_error(context, "ValueError", "for nothing");
    Managed *managed = &owned->managed;
    managed->major = 1;
    managed->minor = 3;
    managed->context = owned;
    managed->deleter = free_allocated;
    managed->tensor = tensor;
    managed->tensor.data = owned + 1;
    managed->tensor.byte_offset = 0;
    int64_t step = 1;
    for (int axis = tensor.ndim - 1; axis >= 0; axis--) {
        owned->shape[axis] = tensor.shape[axis];
        owned->strides[axis] = step;
        step *= tensor.shape[axis];
    }
    managed->tensor.shape = tensor.ndim ? owned->shape : NULL;
    managed->tensor.strides = tensor.ndim ? owned->strides : NULL;
    if (is("allocates_read_only")) managed->flags |= 1;
    if (is("allocates_bytes")) managed->tensor.code = 1, managed->tensor.bits = 8;
    if (is("copies_strides") && tensor.strides) managed->tensor.shape[0] = tensor.strides[0] + 90;
    *out = managed;
    return 0;
}

static int stream(int32_t device_type, int32_t device_id, void **out) {
    if (device_type == 1 && device_id == 0) {
        if (is("no_cpu_stream")) {
            PyErr_SetString(PyExc_ValueError, "the CPU has no stream");
            return -1;
        }
        if (is("stream_error_on_success")) PyErr_SetString(PyExc_ValueError, "left behind");
        if (!is("stream_not_written")) *out = NULL;
        return 0;
    }
    if (is("silent_stream")) return -1;
    if (is("other_stream")) {
        *out = &table;
        return 0;
    }
    PyErr_SetString(PyExc_BufferError, "no such device");
    return -1;
}

/* A table made anew and freed with its capsule. */
static void free_table(PyObject *capsule) { free(PyCapsule_GetPointer(capsule, "dlpack_exchange_api")); }

PyObject *exchange_capsule(void) {
    const char *name = is("other_name") ? "dlpack_exchange" : "dlpack_exchange_api";
    if (is("moves") || is("dies")) {
        Table *copy = malloc(sizeof *copy);
        *copy = table;
        return PyCapsule_New(copy, name, is("dies") ? free_table : NULL);
    }
    return PyCapsule_New(&table, name, NULL);
}

void *exchange_table(void) { return &table; }

/* Sets the table up for one fault; "" for none. */
void exchange_set(const char *name, PyObject *adopting) {
    static Table older, oldest;
    strncpy(fault, name, sizeof fault - 1);
    first = NULL;
    adopt = adopting;
    table = (Table){1, 3, NULL, allocate, from_py, to_py, view, stream};
    older = oldest = table;
    older.minor = oldest.minor = 2;
    if (is("older_tables")) table.prev = &older;
    if (is("cycle")) table.prev = &older, older.prev = &table;
    if (is("rising")) table.prev = &older, older.minor = 4;
    if (is("wild_prev")) table.prev = (Table *)(uintptr_t)0x10000;
    if (is("major_zero")) table.major = 0;
    if (is("minor_one")) table.minor = 1;
    if (is("newer_major")) table.major = 2, table.prev = &older;
    if (is("no_allocator")) table.allocate = NULL;
    if (is("no_stream")) table.stream = NULL;
    if (is("no_view")) table.view = NULL;
}
