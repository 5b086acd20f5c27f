/* dlpack_fuzz_backend.h: what a shared object exports so that dlpack-fuzz can fuzz its DLPack exporter.
 *
 *     dlpack-fuzz check --backend c:./libmine.so
 *     DLPACK_FUZZ_BACKEND=c:./libmine.so cargo fuzz run c_abi
 *
 * The shared object exports one function, `dlpack_fuzz_backend`, that returns a table of functions.
 * dlpack-fuzz builds an array from a description, asks for its device, exports it with the arguments of
 * `__dlpack__`, reads and judges what it gets, calls the deleter, and releases the array; or it releases the array
 * first, exports without having asked, exports again meanwhile, and calls the deleters in any order. It calls from one
 * thread at a time, a deleter also from another one than the export, and nothing after the process began to exit.
 *
 * Structs of this header begin with `struct_size`, the bytes that their maker knew. A reader must not look
 * behind it; fields are only ever added at the end, and then MINOR grows. A change of meaning is a new MAJOR.
 *
 * The DLPack structs themselves are not declared here: include your own `dlpack.h`.
 */
#ifndef DLPACK_FUZZ_BACKEND_H
#define DLPACK_FUZZ_BACKEND_H

#include <stdint.h>

#define DLPACK_FUZZ_BACKEND_MAJOR 1
#define DLPACK_FUZZ_BACKEND_MINOR 0

#if defined(_WIN32)
#define DLPACK_FUZZ_EXPORT __declspec(dllexport)
#else
#define DLPACK_FUZZ_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* As DLDevice: a DLDeviceType and an ordinal. */
typedef struct {
  int32_t type;
  int32_t id;
} DLPackFuzzDevice;

/* As DLDataType. */
typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLPackFuzzDType;

/* Flags of DLPackFuzzArray. */
#define DLPACK_FUZZ_WRITABLE 1u /* else the array is read-only */
#define DLPACK_FUZZ_PACKED 2u   /* elements narrower than a byte lie side by side, the first in the low bits;
                                   else each has a byte of its own, in its low bits */

/* The array to build. Everything it points to is dlpack-fuzz's and ends with the call of `build`. */
typedef struct {
  uint32_t struct_size;
  uint32_t flags;
  DLPackFuzzDType dtype;
  DLPackFuzzDevice device;
  int32_t ndim;             /* 0 to 64 */
  uint32_t item_bytes;      /* bytes that one element (all its lanes) takes; 1 for a PACKED one */
  const int64_t *shape;     /* ndim extents, none negative; NULL if ndim is 0 */
  const int64_t *strides;   /* ndim distances in bytes, in elements for a PACKED array; any sign, any number on an axis
                               of extent 0 or 1; NULL if ndim is 0 */
  uint64_t allocation_size; /* bytes of the memory that holds the elements, gaps included; may be 0 */
  uint64_t offset;          /* of the first element in that memory, in bytes */
  const uint8_t *contents;  /* allocation_size bytes to fill the memory with */
} DLPackFuzzArray;

/* What was built. `build` fills the fields that `struct_size` covers. */
typedef struct {
  uint32_t struct_size;
  uint32_t reserved;
  void *handle;             /* the array, the backend's own; goes back to every other function */
  const void *allocation;   /* the memory that holds the elements, NULL if it is unknown or not addressable by the host */
  uint64_t allocation_size; /* its bytes */
  const void *first;        /* the first element, NULL likewise */
  const char *inexpressible; /* set where `build` answers 1: why there is no such array; lives until the next call */
} DLPackFuzzBuilt;

/* Which arguments of `__dlpack__` are given. */
#define DLPACK_FUZZ_GIVEN_STREAM 1u
#define DLPACK_FUZZ_GIVEN_MAX_VERSION 2u
#define DLPACK_FUZZ_GIVEN_DL_DEVICE 4u
#define DLPACK_FUZZ_GIVEN_COPY 8u

/* The arguments of an export. An argument that is not given is None. */
typedef struct {
  uint32_t struct_size;
  uint32_t given;
  int64_t stream;
  int64_t max_version[2]; /* major, minor */
  DLPackFuzzDevice dl_device;
  int32_t copy; /* 0: False, 1: True */
} DLPackFuzzCall;

/* The kind of an error: the Python exception that stands for it. */
enum {
  DLPACK_FUZZ_BUFFER_ERROR = 1,
  DLPACK_FUZZ_TYPE_ERROR = 2,
  DLPACK_FUZZ_VALUE_ERROR = 3,
  DLPACK_FUZZ_OVERFLOW_ERROR = 4,
  DLPACK_FUZZ_RUNTIME_ERROR = 5,
  DLPACK_FUZZ_MEMORY_ERROR = 6,
  DLPACK_FUZZ_OTHER_ERROR = 7
};

/* What an export gave: exactly one of `versioned`, `legacy` and `error` is set. */
typedef struct {
  uint32_t struct_size;
  int32_t error;       /* one of the kinds above, else 0 */
  void *versioned;     /* a DLManagedTensorVersioned: now dlpack-fuzz's, which calls its deleter once */
  void *legacy;        /* a DLManagedTensor, likewise */
  const char *message; /* of the error, UTF-8; the backend's, lives until the next call; may be NULL */
} DLPackFuzzResult;

/* The table. `name`, `version`, `build`, `device`, `export_array` and `release` must be set; the others may be NULL. */
typedef struct {
  uint32_t struct_size;
  uint16_t major; /* DLPACK_FUZZ_BACKEND_MAJOR, ... */
  uint16_t minor; /* ... _MINOR of the header that the backend was compiled with */
  const char *name;    /* of the library, for reports; static */
  const char *version; /* of the library; static */

  /* Builds the array: 0, or 1 if the library has no such array (that is no fault, and counted). */
  int32_t (*build)(const DLPackFuzzArray *array, DLPackFuzzBuilt *built);
  /* The device of an array: `__dlpack_device__()`. */
  DLPackFuzzDevice (*device)(void *handle);
  /* `__dlpack__(**call)`. */
  void (*export_array)(void *handle, const DLPackFuzzCall *call, DLPackFuzzResult *result);
  /* Drops the reference that `build` gave. Exports may outlive it. */
  void (*release)(void *handle);

  /* Blocks of memory that are alive: arrays, their memory, exports. Once all is released and deleted the number
     must be what it was before. */
  int64_t (*live_blocks)(void);
  /* References to an array that are held: 1 after `build`, one more for each export that shares its memory. */
  int64_t (*references)(void *handle);
  /* The devices and element types to draw arrays from: writes at most `room` and returns how many there are.
     NULL: only host memory; all element types of DLPack 1.3 with one lane. */
  uint32_t (*devices)(DLPackFuzzDevice *devices, uint32_t room);
  uint32_t (*dtypes)(DLPackFuzzDType *dtypes, uint32_t room);
  /* Sets an option of the backend's own (`c:PATH?NAME=VALUE`) before anything is built: NULL, or what is wrong with it
     (static). */
  const char *(*option)(const char *name, const char *value);
} DLPackFuzzBackend;

/* The one exported symbol; the table is static. */
DLPACK_FUZZ_EXPORT const DLPackFuzzBackend *dlpack_fuzz_backend(void);

#ifdef __cplusplus
}
#endif
#endif
