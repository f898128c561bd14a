// SPDX-License-Identifier: Apache-2.0
// What all of HEFT's C interface uses: errors, bytes, options, results, the library in its process.
#ifndef HEFT_C_BASE_H_
#define HEFT_C_BASE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEFT_C_API __attribute__((visibility("default")))

// ---- Versions.

// HEFT_C_ABI: of the binary interface that these headers declare. heft_abi: of the library that
// runs; another number is another interface, with another soname. heft_version: "0.1.0".
#define HEFT_C_ABI 1
HEFT_C_API int heft_abi(void);
HEFT_C_API const char* heft_version(void);

// ---- Objects.

// HEFT_AUTO(KIND): the type heft_KIND; each pointer to it that a declaration declares is freed
// where its block ends, however it is left but by exit and longjmp. For GCC and Clang, whose
// attribute this is; in headers alone, so no part of the binary interface.
//
//   HEFT_AUTO(model) *model = NULL, *other = NULL;
#define HEFT_AUTO(kind) __attribute__((cleanup(heft_##kind##_free_at))) heft_##kind
// What it calls, defined beside each heft_KIND_free.
#define HEFT_C_FREE_AT(kind) \
  static inline void heft_##kind##_free_at(heft_##kind** object) { heft_##kind##_free(*object); }

// ---- Errors.

// heft_status: what became of a call. The kinds are those of heft/heft.h; new ones may come.
typedef enum heft_status {
  HEFT_OK = 0,
  HEFT_CANCELLED = 1,            // a monitor ended the call
  HEFT_INVALID_ARGUMENT = 3,     // the caller's value is wrong (dimension, NaN, unknown name, NULL)
  HEFT_NOT_FOUND = 5,            // an identity, file, key or member that is not there
  HEFT_ALREADY_EXISTS = 6,       // a file that would be overwritten and must not be
  HEFT_RESOURCE_EXHAUSTED = 8,   // the query budget is spent
  HEFT_FAILED_PRECONDITION = 9,  // good objects that do not belong together
  HEFT_OUT_OF_RANGE = 11,        // a rate for which the model's data do not suffice
  HEFT_INTERNAL = 13,            // a mistake in HEFT
  HEFT_UNAVAILABLE = 14,         // the operating system refused, or others change the same gallery
  HEFT_DATA_LOSS = 15,           // bytes that are not what they claim to be
  HEFT_OUT_OF_MEMORY = 100
} heft_status;
// heft_status_name: "INVALID_ARGUMENT" and so on; "UNKNOWN" for other numbers.
HEFT_C_API const char* heft_status_name(heft_status status);

// heft_error: a status with its text, which says what was wrong and what to do: to be shown, not to
// be compared. It holds no secret. An error belongs to its call and not to a thread, because tasks
// of many languages move between threads:
//
//   heft_error *error = NULL;
//   if (heft_model_load(path, &model, &error) != HEFT_OK) puts(heft_error_message(error));
//   heft_error_free(error);
//
// A call that fails makes the object where *error is NULL, and uses it again where it is not. NULL
// instead of &error: the text is not wanted.
typedef struct heft_error heft_error;
HEFT_C_API heft_status heft_error_status(const heft_error* error);
// As long as the object is neither used again nor freed; "" for NULL.
HEFT_C_API const char* heft_error_message(const heft_error* error);
HEFT_C_API void heft_error_free(heft_error* error);
HEFT_C_FREE_AT(error)

// ---- Bytes.

// heft_bytes: a view of bytes; {NULL, 0} where there are none. As a passphrase {NULL, 0} is none,
// and an empty one that is given is refused.
typedef struct heft_bytes {
  const void* data;
  size_t size;
} heft_bytes;

// heft_buffer: bytes that HEFT made.
typedef struct heft_buffer heft_buffer;
// A view, good until the buffer is freed; {NULL, 0} for NULL.
HEFT_C_API heft_bytes heft_buffer_bytes(const heft_buffer* buffer);
HEFT_C_API void heft_buffer_free(heft_buffer* buffer);
HEFT_C_FREE_AT(buffer)
// heft_file_read, heft_file_write: whole files, as ReadFile and WriteFile (heft/files.h).
// `max_size`: larger files are refused; 0: as ReadFile.
HEFT_C_API heft_status heft_file_read(const char* path, uint64_t max_size, heft_buffer** bytes,
                                      heft_error** error);
HEFT_C_API heft_status heft_file_write(const char* path, heft_bytes bytes, heft_error** error);

// ---- Options.

// heft_options: named values for calls that have many. Each call says which names it knows, and
// refuses others and values of another type with HEFT_INVALID_ARGUMENT; NULL: all defaults. A list
// is added to; everything else is replaced when it is set again. Values are copied.
typedef struct heft_options heft_options;
HEFT_C_API heft_status heft_options_new(heft_options** options, heft_error** error);
HEFT_C_API void heft_options_free(heft_options* options);
HEFT_C_FREE_AT(options)
HEFT_C_API heft_status heft_options_set_text(heft_options* options, const char* name,
                                             const char* value, heft_error** error);
HEFT_C_API heft_status heft_options_set_integer(heft_options* options, const char* name,
                                                int64_t value, heft_error** error);
HEFT_C_API heft_status heft_options_set_number(heft_options* options, const char* name,
                                               double value, heft_error** error);
// A flag: 0 is no, anything else yes.
HEFT_C_API heft_status heft_options_set_flag(heft_options* options, const char* name, int value,
                                             heft_error** error);
HEFT_C_API heft_status heft_options_set_bytes(heft_options* options, const char* name,
                                              heft_bytes value, heft_error** error);
HEFT_C_API heft_status heft_options_add_text(heft_options* options, const char* name,
                                             const char* value, heft_error** error);
HEFT_C_API heft_status heft_options_add_number(heft_options* options, const char* name,
                                               double value, heft_error** error);

// ---- Results.

// heft_result: a JSON value. Each call says which members it has; new ones may come. A member is
// named by a JSON pointer (RFC 6901): "/candidates/0/identity"; "" is the whole.
typedef struct heft_result heft_result;
HEFT_C_API void heft_result_free(heft_result* result);
HEFT_C_FREE_AT(result)
// The whole as text, good until the result is freed.
HEFT_C_API heft_status heft_result_json(const heft_result* result, const char** text,
                                        heft_error** error);
// A member. HEFT_NOT_FOUND where there is none, HEFT_INVALID_ARGUMENT where it is of another type.
// Text is good until the result is freed.
HEFT_C_API heft_status heft_result_text(const heft_result* result, const char* member,
                                        const char** text, heft_error** error);
HEFT_C_API heft_status heft_result_integer(const heft_result* result, const char* member,
                                           int64_t* value, heft_error** error);
HEFT_C_API heft_status heft_result_number(const heft_result* result, const char* member,
                                          double* value, heft_error** error);
HEFT_C_API heft_status heft_result_flag(const heft_result* result, const char* member, int* value,
                                        heft_error** error);
// How many elements an array has, or members an object.
HEFT_C_API heft_status heft_result_size(const heft_result* result, const char* member, size_t* size,
                                        heft_error** error);

// ---- Long calls.

// heft_monitor is called with the steps of a long call, from the thread that made it: done of
// total; total 0: a question whether to go on. Anything but 0 ends the call with HEFT_CANCELLED,
// and nothing has changed. NULL: none. `user` is handed through. It must not throw or jump out.
typedef int (*heft_monitor)(void* user, const char* what, size_t done, size_t total);

// ---- The library in its process (heft/runtime.h).

// Threads that calls use, the caller's included; 0: all cores. Not while a call runs.
HEFT_C_API void heft_set_thread_count(int threads);
HEFT_C_API int heft_thread_count(void);
// The vector instructions in use: "avx2", "reference", ...; good for ever.
HEFT_C_API const char* heft_instruction_set(void);
// HEFT_UNAVAILABLE if some memory for secrets could not be locked against swapping.
HEFT_C_API heft_status heft_secure_memory(heft_error** error);
HEFT_C_API heft_status heft_disable_core_dumps(heft_error** error);

// ---- Vectors.

// heft_rows: vectors of one modality, row by row. A view: the caller keeps the values.
typedef struct heft_rows {
  const char* modality;  // its name in the model, or in the one that is learned
  const float* values;   // rows x dimension
  size_t rows;
  size_t dimension;
} heft_rows;

#ifdef __cplusplus
}
#endif

#endif  // HEFT_C_BASE_H_
