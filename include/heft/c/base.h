// SPDX-License-Identifier: Apache-2.0
// Definitions for all of HEFT's C interface: errors, bytes, options, results, process settings.
#ifndef HEFT_C_BASE_H_
#define HEFT_C_BASE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEFT_C_API __attribute__((visibility("default")))

// ---- Versions.

// HEFT_C_ABI: the version of the binary interface in these headers. heft_abi: the version in the
// running library; a different number is an incompatible interface with a different soname.
// heft_version: "0.2.0".
#define HEFT_C_ABI 1
HEFT_C_API int heft_abi(void);
HEFT_C_API const char* heft_version(void);

// ---- Objects.

// HEFT_AUTO(KIND): the type heft_KIND. Each pointer in such a declaration is freed at the end of
// its block, except after exit and longjmp. It uses an attribute of GCC and Clang. It exists only
// in headers, so it is not part of the binary interface.
//
//   HEFT_AUTO(model) *model = NULL, *other = NULL;
#define HEFT_AUTO(kind) __attribute__((cleanup(heft_##kind##_free_at))) heft_##kind
// The function that HEFT_AUTO calls, defined with each heft_KIND_free.
#define HEFT_C_FREE_AT(kind) \
  static inline void heft_##kind##_free_at(heft_##kind** object) { heft_##kind##_free(*object); }

// ---- Errors.

// heft_status: the outcome of a call. The kinds are those of heft/heft.h; new ones may be added.
typedef enum heft_status {
  HEFT_OK = 0,
  HEFT_CANCELLED = 1,            // a monitor ended the call
  HEFT_INVALID_ARGUMENT = 3,     // a wrong value of the caller (dimension, NaN, unknown name, NULL)
  HEFT_NOT_FOUND = 5,            // an identity, file, key or member that does not exist
  HEFT_ALREADY_EXISTS = 6,       // a file that would be overwritten and must not be
  HEFT_RESOURCE_EXHAUSTED = 8,   // the query budget is spent
  HEFT_FAILED_PRECONDITION = 9,  // valid objects that do not belong together
  HEFT_OUT_OF_RANGE = 11,        // a rate for which the model's data are not sufficient
  HEFT_INTERNAL = 13,            // a bug in HEFT
  HEFT_UNAVAILABLE = 14,         // the operating system refused, or others change the same gallery
  HEFT_DATA_LOSS = 15,           // damaged bytes
  HEFT_OUT_OF_MEMORY = 100
} heft_status;
// heft_status_name: "INVALID_ARGUMENT" and so on; "UNKNOWN" for other numbers.
HEFT_C_API const char* heft_status_name(heft_status status);

// heft_error: a status with a text for people that states the problem and the remedy; programs
// should not compare it. It contains no secret. An error belongs to its call and not to a thread,
// because tasks of many languages move between threads:
//
//   heft_error *error = NULL;
//   if (heft_model_load(path, &model, &error) != HEFT_OK) puts(heft_error_message(error));
//   heft_error_free(error);
//
// A failed call creates the object if *error is NULL, and otherwise reuses it. Pass NULL instead of
// &error to get no text.
typedef struct heft_error heft_error;
HEFT_C_API heft_status heft_error_status(const heft_error* error);
// Valid until the object is reused or freed; "" for NULL.
HEFT_C_API const char* heft_error_message(const heft_error* error);
HEFT_C_API void heft_error_free(heft_error* error);
HEFT_C_FREE_AT(error)

// ---- Bytes.

// heft_bytes: a view of bytes; {NULL, 0} is empty. {NULL, 0} as a passphrase means none; any other
// empty passphrase is refused.
typedef struct heft_bytes {
  const void* data;
  size_t size;
} heft_bytes;

// heft_asked: a passphrase that a call asks for: the call uses `source->ask` if it needs one, once,
// in its own thread. `ask` writes UTF-8 text of at most `room` bytes and returns its length; a
// negative number ends the call with HEFT_CANCELLED. HEFT wipes the text. `source` must stay as
// long as the call.
//
//   heft_passphrase prompt = {ask_at_terminal, terminal};
//   heft_key_owner_load(model, "secret.key", heft_asked(&prompt), &owner, &error);
typedef struct heft_passphrase {
  ptrdiff_t (*ask)(void* user, char* text, size_t room);
  void* user;
} heft_passphrase;
// HEFT_ASKED: the size that tells a heft_passphrase from bytes; no bytes have it.
#define HEFT_ASKED SIZE_MAX
static inline heft_bytes heft_asked(const heft_passphrase* source) {
  heft_bytes asked = {source, HEFT_ASKED};
  return asked;
}

// heft_buffer: bytes that HEFT allocated.
typedef struct heft_buffer heft_buffer;
// A view, valid until the buffer is freed; {NULL, 0} for NULL.
HEFT_C_API heft_bytes heft_buffer_bytes(const heft_buffer* buffer);
// A copy of the bytes, for functions of yours that return a buffer (heft_answer_request).
HEFT_C_API heft_status heft_buffer_copy(heft_bytes bytes, heft_buffer** buffer, heft_error** error);
HEFT_C_API void heft_buffer_free(heft_buffer* buffer);
HEFT_C_FREE_AT(buffer)
// heft_file_read, heft_file_write: whole files, as ReadFile and WriteFile (heft/files.h). Files
// that are too large for their `kind` are refused: "model", "keys", "samples",
// "reply", "canaries", "ceremony" (its record), "seed" (of an audit); "": any.
HEFT_C_API heft_status heft_file_read(const char* path, const char* kind, heft_buffer** bytes,
                                      heft_error** error);
HEFT_C_API heft_status heft_file_write(const char* path, heft_bytes bytes, heft_error** error);

// ---- Options.

// heft_options: named values for calls with many options; NULL: all defaults. Each call lists its
// names, and returns HEFT_INVALID_ARGUMENT for other names and for values of another type. Adding
// appends to a list; setting replaces a value. Values are copied.
typedef struct heft_options heft_options;
HEFT_C_API heft_status heft_options_new(heft_options** options, heft_error** error);
HEFT_C_API void heft_options_free(heft_options* options);
HEFT_C_FREE_AT(options)
HEFT_C_API heft_status heft_options_set_text(heft_options* options, const char* name,
                                             const char* value, heft_error** error);
// An integer is a number too, and a flag: 0 is no.
HEFT_C_API heft_status heft_options_set_integer(heft_options* options, const char* name,
                                                int64_t value, heft_error** error);
// An integer that may be 2^63 or above.
HEFT_C_API heft_status heft_options_set_unsigned(heft_options* options, const char* name,
                                                 uint64_t value, heft_error** error);
HEFT_C_API heft_status heft_options_set_number(heft_options* options, const char* name,
                                               double value, heft_error** error);
// A flag: 0 is no, any other value is yes.
HEFT_C_API heft_status heft_options_set_flag(heft_options* options, const char* name, int value,
                                             heft_error** error);
HEFT_C_API heft_status heft_options_set_bytes(heft_options* options, const char* name,
                                              heft_bytes value, heft_error** error);
// An empty list, of texts or of numbers. Without it, an option to which nothing is added is not
// given.
HEFT_C_API heft_status heft_options_set_empty_list(heft_options* options, const char* name,
                                                   heft_error** error);
HEFT_C_API heft_status heft_options_add_text(heft_options* options, const char* name,
                                             const char* value, heft_error** error);
HEFT_C_API heft_status heft_options_add_number(heft_options* options, const char* name,
                                               double value, heft_error** error);

// ---- Results.

// heft_result: a JSON value. Each call lists its members, or names a record, whose members are the
// fields in heft/results.h; new ones may be added. A JSON pointer
// (RFC 6901) names a member: "/candidates/0/identity"; "" is the whole value.
typedef struct heft_result heft_result;
HEFT_C_API void heft_result_free(heft_result* result);
HEFT_C_FREE_AT(result)
// The whole value as text, valid until the result is freed.
HEFT_C_API heft_status heft_result_json(const heft_result* result, const char** text,
                                        heft_error** error);
// A member. HEFT_NOT_FOUND if it does not exist, HEFT_INVALID_ARGUMENT if it has another type. Text
// is valid until the result is freed.
HEFT_C_API heft_status heft_result_text(const heft_result* result, const char* member,
                                        const char** text, heft_error** error);
HEFT_C_API heft_status heft_result_integer(const heft_result* result, const char* member,
                                           int64_t* value, heft_error** error);
HEFT_C_API heft_status heft_result_number(const heft_result* result, const char* member,
                                          double* value, heft_error** error);
HEFT_C_API heft_status heft_result_flag(const heft_result* result, const char* member, int* value,
                                        heft_error** error);
// The number of elements of an array, or of members of an object.
HEFT_C_API heft_status heft_result_size(const heft_result* result, const char* member, size_t* size,
                                        heft_error** error);

// ---- Long calls.

// heft_monitor: called with the steps of a long call, from its thread: `done` of `total`, and a
// `note` for people, which may be "". total 0 only asks whether to continue. If it returns another
// value than 0, the call ends with HEFT_CANCELLED and has changed nothing. It is called for the
// first and the last step of each `what`, and otherwise 20 times a second at most. NULL: no
// monitor. `user` is passed to it. It must not throw or jump out.
typedef int (*heft_monitor)(void* user, const char* what, size_t done, size_t total,
                            const char* note);
// heft_set_interrupted_check: a function that waits for locks and pipes call, from any thread,
// while they wait. If it returns another value than 0, the wait ends with HEFT_CANCELLED. NULL:
// none (SetInterruptedCheck). It must not throw or jump out.
typedef int (*heft_interrupted)(void);
HEFT_C_API void heft_set_interrupted_check(heft_interrupted interrupted);

// ---- The library in its process (heft/base.h).

// Threads that calls use, including the caller's; 0: all cores. Do not call it while another call
// runs.
HEFT_C_API void heft_set_thread_count(int threads);
HEFT_C_API int heft_thread_count(void);
// GiveWay: lowers the priority of the calling thread and of the threads that work on its calls.
HEFT_C_API heft_status heft_give_way(heft_error** error);
// The vector instructions in use: "avx2", "reference", ...; valid for ever. heft_instruction_sets:
// an array of those that this machine has, best first.
HEFT_C_API const char* heft_instruction_set(void);
HEFT_C_API heft_status heft_instruction_sets(heft_result** result, heft_error** error);
// HEFT_UNAVAILABLE if some memory for secrets could not be locked against swapping.
HEFT_C_API heft_status heft_secure_memory(heft_error** error);
HEFT_C_API heft_status heft_disable_core_dumps(heft_error** error);

// ---- Vectors.

// heft_rows: vectors of one modality, row by row. It is a view: the caller keeps the values.
typedef struct heft_rows {
  const char* modality;  // its name in the model, or in the model to be trained
  const float* values;   // rows x dimension
  size_t rows;
  size_t dimension;
} heft_rows;

#ifdef __cplusplus
}
#endif

#endif  // HEFT_C_BASE_H_
