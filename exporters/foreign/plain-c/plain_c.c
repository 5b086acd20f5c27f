/* A DLPack exporter in plain C, written from the array API standard's text on `__dlpack__` and from dlpack.h.
 *
 *     cc -shared -fPIC -O2 -I INCLUDE -I FOLDER_OF_DLPACK_H plain_c.c -o libplain_c.so
 *
 * An array is a reference-counted block with its own copy of shape and strides. An export either shares the
 * array's memory and holds a reference to it, or owns a copy. All of it lies in host memory.
 *
 * -DFAULT=N plants one of the faults below, each a mistake that a C programmer makes.
 */
#include <stdlib.h>
#include <string.h>

#include <dlpack/dlpack.h>

#include "dlpack_fuzz_backend.h"

#ifndef FAULT
#define FAULT 0
#endif
#define STRIDES_IN_BYTES 1  /* strides are told in bytes */
#define DELETER_KEEPS_OWNER 2 /* the deleter forgets the reference to the array */
#define DELETER_KEEPS_STRUCT 3 /* the deleter frees the array's reference and not the struct */
#define COPY_UNFLAGGED 4    /* a copy lacks IS_COPIED */
#define READ_ONLY_UNFLAGGED 5 /* a read-only array goes out as writable */
#define VERSION_ECHO 6      /* the struct declares the version that was asked for */
#define COPY_FALSE_COPIES 7 /* copy=False copies */
#define WRONG_DEVICE 8      /* device id 1 in the struct */
#define VALUE_ERROR_DEVICE 9 /* an unsupported device raises ValueError */
#define OFFSET_LOST 10      /* data points to the start of the allocation */
#define CRASH_ON_COPY 11    /* copying a read-only array dereferences NULL */
#define PACKED_FROM_HIGH 12 /* copies of packed arrays have their elements in the other order */

typedef struct Array {
  long references;
  int ndim;
  int64_t *shape;   /* then the strides, in elements */
  int64_t *strides; /* in elements */
  DLDataType dtype;
  int item_bytes;
  int is_writable, is_packed, has_odd_stride;
  uint8_t *memory, *first;
  uint64_t memory_bytes;
} Array;

/* What an export owns; `manager_ctx` of both structs. */
typedef struct {
  union {
    DLManagedTensor legacy;
    DLManagedTensorVersioned versioned;
  } managed;
  Array *owner;  /* a reference, or NULL for a copy */
  uint8_t *copy; /* the memory of a copy, or NULL */
  int64_t numbers[]; /* shape and strides: an export outlives its array */
} Export;

static int64_t blocks;

static void *take(size_t bytes) {
  void *memory = malloc(bytes ? bytes : 1);
  if (memory) blocks++;
  return memory;
}

static void give(void *memory) {
  if (memory) blocks--;
  free(memory);
}

static void drop(Array *array) {
  if (--array->references) return;
  give(array->memory);
  give(array->shape);
  give(array);
}

/* --- building ---------------------------------------------------------------------------------------- */

static int64_t element_bits(const Array *array) {
  if (array->is_packed) return (int64_t)array->dtype.bits * array->dtype.lanes;
  return (int64_t)array->item_bytes * 8;
}

static int32_t build(const DLPackFuzzArray *wanted, DLPackFuzzBuilt *built) {
  if (wanted->device.type != kDLCPU || wanted->device.id != 0) {
    built->inexpressible = "there is host memory only";
    return 1;
  }
  Array *array = take(sizeof *array);
  int64_t *numbers = take(sizeof *numbers * 2 * (size_t)wanted->ndim);
  uint8_t *memory = take(wanted->allocation_size);
  if (!array || !numbers || !memory) {
    give(array), give(numbers), give(memory);
    built->inexpressible = "no memory";
    return 1;
  }
  memset(array, 0, sizeof *array);
  array->references = 1;
  array->ndim = wanted->ndim;
  array->shape = numbers;
  array->strides = numbers + wanted->ndim;
  array->dtype = (DLDataType){wanted->dtype.code, wanted->dtype.bits, wanted->dtype.lanes};
  array->item_bytes = (int)wanted->item_bytes;
  array->is_writable = (wanted->flags & DLPACK_FUZZ_WRITABLE) != 0;
  array->is_packed = (wanted->flags & DLPACK_FUZZ_PACKED) != 0;
  int is_empty = 0;
  for (int axis = 0; axis < wanted->ndim; axis++) is_empty |= wanted->shape[axis] == 0;
  for (int axis = 0; axis < wanted->ndim; axis++) {
    int64_t step = array->is_packed ? 1 : array->item_bytes;
    array->shape[axis] = wanted->shape[axis];
    array->strides[axis] = wanted->strides[axis] / step;
    if (wanted->strides[axis] % step && wanted->shape[axis] > 1 && !is_empty) array->has_odd_stride = 1;
  }
  array->memory = memory;
  array->memory_bytes = wanted->allocation_size;
  array->first = memory + wanted->offset;
  memcpy(memory, wanted->contents, wanted->allocation_size);
  built->handle = array;
  built->allocation = memory;
  built->allocation_size = wanted->allocation_size;
  built->first = array->first;
  return 0;
}

static DLPackFuzzDevice device(void *handle) {
  (void)handle;
  return (DLPackFuzzDevice){kDLCPU, 0};
}

static void release(void *handle) { drop(handle); }

static int64_t live_blocks(void) { return blocks; }

static int64_t references(void *handle) { return ((Array *)handle)->references; }

/* --- exporting --------------------------------------------------------------------------------------- */

static void discard(Export *export) {
  if (export->owner && FAULT != DELETER_KEEPS_OWNER) drop(export->owner);
  give(export->copy);
  if (FAULT != DELETER_KEEPS_STRUCT) give(export);
}

static void delete_legacy(DLManagedTensor *self) { discard(self->manager_ctx); }

static void delete_versioned(DLManagedTensorVersioned *self) { discard(self->manager_ctx); }

static void fail(DLPackFuzzResult *result, int32_t kind, const char *message) {
  result->error = kind;
  result->message = message;
}

static int64_t size_of(const Array *array) {
  int64_t size = 1;
  for (int axis = 0; axis < array->ndim; axis++) {
    if (array->shape[axis] == 0) return 0;
    if (size > INT64_MAX / array->shape[axis]) return -1;
    size *= array->shape[axis];
  }
  return size;
}

/* The next index in row-major order; the distance of its element from the first one, in elements. */
static int64_t advance(const Array *array, int64_t *index, int64_t at) {
  for (int axis = array->ndim - 1; axis >= 0; axis--) {
    at += array->strides[axis];
    if (++index[axis] < array->shape[axis]) return at;
    at -= array->strides[axis] * index[axis];
    index[axis] = 0;
  }
  return at;
}

static unsigned bit_at(const uint8_t *first, int64_t bit) {
  int64_t byte = bit >= 0 ? bit / 8 : -((-bit + 7) / 8);
  return first[byte] >> (bit - byte * 8) & 1;
}

/* The elements in row-major order without gaps; NULL if there is no memory. */
static uint8_t *compact(const Array *array) {
  int64_t size = size_of(array), bits = element_bits(array);
  if (size < 0 || (size && bits > INT64_MAX / 2 / size)) return NULL;
  uint64_t bytes = ((uint64_t)(size * bits) + 7) / 8;
  if (bytes > (uint64_t)1 << 40) return NULL;
  uint8_t *copy = take(bytes);
  if (!copy) return NULL;
  if (array->is_packed) memset(copy, 0, bytes);
  int64_t index[64] = {0}, at = 0;
  for (int64_t place = 0; place < size; place++) {
    if (array->is_packed) {
      int64_t to = FAULT == PACKED_FROM_HIGH ? (place ^ 1) < size ? place ^ 1 : place : place;
      for (int64_t bit = 0; bit < bits; bit++) {
        int64_t goal = to * bits + bit;
        copy[goal / 8] |= (uint8_t)(bit_at(array->first, at * bits + bit) << goal % 8);
      }
    } else {
      memcpy(copy + place * array->item_bytes, array->first + at * array->item_bytes, (size_t)array->item_bytes);
    }
    at = advance(array, index, at);
  }
  return copy;
}

static void describe(DLTensor *tensor, const Array *array, Export *export) {
  int64_t *shape = export->numbers, *strides = export->numbers + array->ndim, step = 1;
  for (int axis = array->ndim - 1; axis >= 0; axis--) {
    shape[axis] = array->shape[axis];
    strides[axis] = export->copy ? step : array->strides[axis];
    if (FAULT == STRIDES_IN_BYTES) strides[axis] *= array->item_bytes;
    /* What does not fit was refused: only an array without elements comes to a product of 0 or beyond. */
    if (shape[axis] > 1) step = step > INT64_MAX / shape[axis] ? step : step * shape[axis];
  }
  tensor->data = export->copy ? export->copy : FAULT == OFFSET_LOST ? array->memory : array->first;
  /* No elements, no address. */
  if (size_of(array) == 0) tensor->data = NULL;
  tensor->device = (DLDevice){kDLCPU, FAULT == WRONG_DEVICE};
  tensor->ndim = array->ndim;
  tensor->dtype = array->dtype;
  tensor->shape = shape;
  tensor->strides = strides;
  tensor->byte_offset = 0;
}

static int is_narrow(const Array *array) { return array->dtype.bits * array->dtype.lanes < 8; }

static void export_array(void *handle, const DLPackFuzzCall *call, DLPackFuzzResult *result) {
  Array *array = handle;
  int has_version = (call->given & DLPACK_FUZZ_GIVEN_MAX_VERSION) != 0;
  int is_versioned = has_version && call->max_version[0] >= 1;

  if (has_version && (call->max_version[0] < 0 || call->max_version[1] < 0))
    return fail(result, DLPACK_FUZZ_VALUE_ERROR, "max_version is negative");
  if (call->given & DLPACK_FUZZ_GIVEN_STREAM)
    return fail(result, DLPACK_FUZZ_VALUE_ERROR, "host memory has no streams: stream must be None");
  if (call->given & DLPACK_FUZZ_GIVEN_DL_DEVICE &&
      (call->dl_device.type != kDLCPU || call->dl_device.id != 0))
    return fail(result, FAULT == VALUE_ERROR_DEVICE ? DLPACK_FUZZ_VALUE_ERROR : DLPACK_FUZZ_BUFFER_ERROR,
                "the array can be exported to (1, 0) only");
  if (array->has_odd_stride)
    return fail(result, DLPACK_FUZZ_BUFFER_ERROR, "DLPack counts strides in elements");
  int wants_copy = call->given & DLPACK_FUZZ_GIVEN_COPY && call->copy;
  if (FAULT == COPY_FALSE_COPIES && call->given & DLPACK_FUZZ_GIVEN_COPY) wants_copy = 1;
  /* A struct without flags can say neither that data is read-only (a copy is not) nor that elements are padded. */
  if (!is_versioned && !array->is_writable && !wants_copy && FAULT != READ_ONLY_UNFLAGGED)
    return fail(result, DLPACK_FUZZ_BUFFER_ERROR, "a read-only array needs max_version=(1, 0)");
  if (!is_versioned && is_narrow(array))
    return fail(result, DLPACK_FUZZ_BUFFER_ERROR, "a type narrower than a byte needs max_version=(1, 0)");

  if (FAULT == CRASH_ON_COPY && wants_copy && !array->is_writable) *(volatile int *)NULL = 0;
  Export *export = take(sizeof *export + sizeof(int64_t) * 2 * (size_t)array->ndim);
  if (!export) return fail(result, DLPACK_FUZZ_MEMORY_ERROR, "no memory");
  export->owner = NULL;
  export->copy = NULL;
  if (wants_copy) {
    export->copy = compact(array);
    if (!export->copy) {
      give(export);
      return fail(result, DLPACK_FUZZ_MEMORY_ERROR, "no memory for a copy");
    }
  } else {
    export->owner = array;
    array->references++;
  }
  if (is_versioned) {
    DLManagedTensorVersioned *managed = &export->managed.versioned;
    managed->version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    if (FAULT == VERSION_ECHO) managed->version.minor = (uint32_t)call->max_version[1];
    managed->manager_ctx = export;
    managed->deleter = delete_versioned;
    managed->flags = 0;
    if (wants_copy && FAULT != COPY_UNFLAGGED) managed->flags |= DLPACK_FLAG_BITMASK_IS_COPIED;
    if (!wants_copy && !array->is_writable && FAULT != READ_ONLY_UNFLAGGED)
      managed->flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    if (is_narrow(array) && !array->is_packed) managed->flags |= DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
    describe(&managed->dl_tensor, array, export);
    result->versioned = managed;
  } else {
    DLManagedTensor *managed = &export->managed.legacy;
    managed->manager_ctx = export;
    managed->deleter = delete_legacy;
    describe(&managed->dl_tensor, array, export);
    result->legacy = managed;
  }
}

/* --- the table --------------------------------------------------------------------------------------- */

/* All element types of DLPack 1.3 that a case can name, one lane each. */
static uint32_t dtypes(DLPackFuzzDType *types, uint32_t room) {
  static const DLPackFuzzDType all[] = {
      {kDLBool, 8, 1},           {kDLInt, 8, 1},           {kDLInt, 16, 1},
      {kDLInt, 32, 1},           {kDLInt, 64, 1},          {kDLUInt, 8, 1},
      {kDLUInt, 16, 1},          {kDLUInt, 32, 1},         {kDLUInt, 64, 1},
      {kDLFloat, 16, 1},         {kDLFloat, 32, 1},        {kDLFloat, 64, 1},
      {kDLBfloat, 16, 1},        {kDLComplex, 32, 1},      {kDLComplex, 64, 1},
      {kDLComplex, 128, 1},      {kDLFloat8_e3m4, 8, 1},   {kDLFloat8_e4m3, 8, 1},
      {kDLFloat8_e4m3b11fnuz, 8, 1}, {kDLFloat8_e4m3fn, 8, 1}, {kDLFloat8_e4m3fnuz, 8, 1},
      {kDLFloat8_e5m2, 8, 1},    {kDLFloat8_e5m2fnuz, 8, 1}, {kDLFloat8_e8m0fnu, 8, 1},
      {kDLFloat6_e2m3fn, 6, 1},  {kDLFloat6_e3m2fn, 6, 1}, {kDLFloat4_e2m1fn, 4, 1},
      {kDLInt, 4, 1},            {kDLUInt, 4, 1},          {kDLInt, 2, 1},
      {kDLUInt, 2, 1},           {kDLInt, 1, 1},           {kDLUInt, 1, 1},
  };
  uint32_t count = sizeof all / sizeof *all;
  if (count > room) count = room;
  memcpy(types, all, count * sizeof *all);
  return count;
}

const DLPackFuzzBackend *dlpack_fuzz_backend(void) {
  static const DLPackFuzzBackend table = {
      .struct_size = sizeof table,
      .major = DLPACK_FUZZ_BACKEND_MAJOR,
      .minor = DLPACK_FUZZ_BACKEND_MINOR,
      .name = "plain-c",
      .version = "1.0",
      .build = build,
      .device = device,
      .export_array = export_array,
      .release = release,
      .live_blocks = live_blocks,
      .references = references,
      .dtypes = dtypes,
  };
  return &table;
}
