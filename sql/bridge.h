// SPDX-License-Identifier: Apache-2.0
// The interface between the two sides of the extension. PostgreSQL's side is C (*.c): its errors
// jump over stack frames, which is undefined in C++. HEFT's side is C++ (*.cc), does not use
// PostgreSQL, and runs in its own threads, which receive no signals: a *job*. If a job needs
// something of the database, it sends a *request*, which the backend's own thread serves while it
// waits for the job. So no frame of C++ is ever on the stack of a call to PostgreSQL, and only the
// backend's own thread calls it.
#ifndef HEFT_SQL_BRIDGE_H_
#define HEFT_SQL_BRIDGE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum HeftType {
  HEFT_NULL = 0,
  HEFT_BYTES,
  HEFT_TEXT,
  HEFT_INTEGER,
  HEFT_BOOLEAN,
  HEFT_BYTES_ARRAY,
  HEFT_INTEGER_ARRAY,
} HeftType;

// HeftValue. `integer`: also a boolean. `data`: bytes, or the `size` HeftValues of an array.
typedef struct HeftValue {
  HeftType type;
  int64_t integer;
  const void* data;
  size_t size;
} HeftValue;

// --- Requests: from a job to the backend.
typedef enum HeftRequestKind {
  HEFT_STATEMENT,
  HEFT_TAKE_SNAPSHOT,  // into `snapshot`
  HEFT_DROP_SNAPSHOT,
  HEFT_BEGIN,  // a subtransaction; its depth is stored in `depth`
  HEFT_COMMIT,
  HEFT_ROLL_BACK,
  HEFT_LOCK,  // the store's; `depth`: milliseconds to wait; `refused` if others have it
} HeftRequestKind;

typedef struct HeftRequest {
  HeftRequestKind kind;
  const char* sql;  // ends with 0
  const HeftValue* parameters;
  int count;
  void* snapshot;  // a statement's snapshot; it changes nothing; NULL: the newest state
  int depth;
  bool refused;
} HeftRequest;

// heft_request_row: adds a row that a statement returned. False if memory is exhausted.
bool heft_request_row(HeftRequest* request, const HeftValue* values, int count);

// --- Jobs of the backend.
typedef enum HeftWork {
  HEFT_CREATE_GALLERY,
  HEFT_ENROL,
  HEFT_PENDING,
  HEFT_ADMIT,
  HEFT_IDENTIFY,
  HEFT_IDENTIFY_MANY,
  HEFT_VERIFY,
  HEFT_REMOVE,
  HEFT_STATS,
  HEFT_LIST,
  HEFT_SERVER_KEY,
} HeftWork;

// HeftCall: the arguments of a function. The caller keeps the memory until heft_job_started.
typedef struct HeftCall {
  HeftWork work;
  const char* gallery;  // its name
  const HeftValue* files;
  int files_count;
  HeftValue text;         // an identity, a trust file
  HeftValue bytes;        // an admission, an authorisation
  const HeftValue* more;  // metadata, conditions
  int more_count;
  HeftValue key;  // an idempotency key
  int64_t expires;
  bool flag;                   // identities in the reply
  const HeftValue* galleries;  // of many; `gallery` is the first
  int galleries_count;
} HeftCall;

// HeftSettings: of the session. The caller keeps the strings during the call.
typedef struct HeftSettings {
  const char* state_directory;
  const char* database;  // its name
  int64_t cache_bytes;
  int threads;      // 0: all cores
  int writer_wait;  // seconds
} HeftSettings;

typedef struct HeftJob HeftJob;
// heft_job_start: NULL if the system has no memory or no thread. The process has one job at a time.
HeftJob* heft_job_start(const HeftCall* call, const HeftSettings* settings);
// heft_job_descriptor: readable when a job has a request or has ended. < 0: the system has none.
int heft_job_descriptor(void);
void heft_job_quiet(void);                 // what was said is read
HeftRequest* heft_job_next(HeftJob* job);  // NULL: nothing is asked now
void heft_job_answer(HeftJob* job, HeftRequest* request);
bool heft_job_done(HeftJob* job);
// heft_job_end: stops the job, waits for its thread, frees it. At any time; NULL is ignored.
void heft_job_end(HeftJob* job);

// For a finished job. heft_job_error: NULL after success. `state`: five characters of SQLSTATE.
const char* heft_job_error(const HeftJob* job, const char** state);
size_t heft_job_rows(const HeftJob* job);
const HeftValue* heft_job_row(const HeftJob* job, size_t row, size_t* columns);

// heft_check: whether HEFT's own readers accept bytes as this type. If not, `error` of `size` bytes
// says why.
typedef enum HeftKind {
  HEFT_IS_SAMPLE,
  HEFT_IS_TEMPLATE,
  HEFT_IS_PROBE,
  HEFT_IS_REPLY,
  HEFT_IS_MODEL,
  HEFT_IS_KEYS,
  HEFT_IS_REQUEST,
  HEFT_IS_ADMISSION,
} HeftKind;
bool heft_check(HeftKind kind, const void* data, size_t size, char* error, size_t error_size);

// heft_bucket_of: the bucket of an identity; < 0 if `buckets` is no valid number of buckets.
int heft_bucket_of(const char* identity, size_t size, int buckets);

#ifdef __cplusplus
}
#endif

#endif  // HEFT_SQL_BRIDGE_H_
