// SPDX-License-Identifier: Apache-2.0
// All that the two sides of the extension know of each other. PostgreSQL's side is C (*.c): its
// errors jump over stack frames, which in C++ is undefined. HEFT's side is C++ (*.cc), knows
// nothing of PostgreSQL, and runs in threads of its own, in which no signal is delivered: a *job*.
// What a job needs of the database it asks for by a *request*, which the backend's own thread
// serves while it waits for the job. So no frame of C++ is ever on the stack of a call to
// PostgreSQL, and no thread but the backend's own calls it.
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

// HeftValue: `integer` also of a boolean; `data` bytes, or the `size` HeftValues of an array.
typedef struct HeftValue {
  HeftType type;
  int64_t integer;
  const void* data;
  size_t size;
} HeftValue;

// --- Requests: of a job to the backend.
typedef enum HeftRequestKind {
  HEFT_STATEMENT,
  HEFT_TAKE_SNAPSHOT,  // into `snapshot`
  HEFT_DROP_SNAPSHOT,
  HEFT_BEGIN,  // a subtransaction, whose depth goes into `depth`
  HEFT_COMMIT,
  HEFT_ROLL_BACK,
  HEFT_LOCK,  // the store's; `depth`: milliseconds to wait; `refused` if others have it
} HeftRequestKind;

typedef struct HeftRequest {
  HeftRequestKind kind;
  const char* sql;  // ends with 0
  const HeftValue* parameters;
  int count;
  void* snapshot;  // of a statement: what it sees, and it changes nothing; NULL: the newest state
  int depth;
  bool refused;
} HeftRequest;

// heft_request_row: a row of what a statement returned. False: no memory for it.
bool heft_request_row(HeftRequest* request, const HeftValue* values, int count);

// --- Jobs: of the backend.
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
  HEFT_SERVER_KEY,
} HeftWork;

// HeftCall: what a function was called with; memory is the caller's until heft_job_started.
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
  const HeftValue* galleries;  // names of many: `gallery` is the first
  int galleries_count;
} HeftCall;

// HeftSettings: of the session; strings are the caller's for the call.
typedef struct HeftSettings {
  const char* state_directory;
  const char* database;  // its name
  int64_t cache_bytes;
  int threads;      // 0: all cores
  int writer_wait;  // seconds
} HeftSettings;

typedef struct HeftJob HeftJob;
// heft_job_start: NULL where the system has no memory or makes no thread. The process has one job
// at a time.
HeftJob* heft_job_start(const HeftCall* call, const HeftSettings* settings);
// heft_job_descriptor: readable whenever a job has something to say; < 0: the system has none.
int heft_job_descriptor(void);
void heft_job_quiet(void);                 // what was said is read
HeftRequest* heft_job_next(HeftJob* job);  // NULL: nothing is asked now
void heft_job_answer(HeftJob* job, HeftRequest* request);
bool heft_job_done(HeftJob* job);
// heft_job_end: stops it, waits for its thread, frees it. Any time; NULL is none.
void heft_job_end(HeftJob* job);

// Of one that is done. heft_job_error: NULL: it went well. `state`: five characters of SQLSTATE.
const char* heft_job_error(const HeftJob* job, const char** state);
size_t heft_job_rows(const HeftJob* job);
const HeftValue* heft_job_row(const HeftJob* job, size_t row, size_t* columns);

// heft_check: whether bytes are what a type takes, by HEFT's own readers; otherwise why not, in
// `error` of `size` bytes.
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

// heft_bucket_of: which bucket an identity belongs into; < 0: `buckets` is no number of buckets.
int heft_bucket_of(const char* identity, size_t size, int buckets);

#ifdef __cplusplus
}
#endif

#endif  // HEFT_SQL_BRIDGE_H_
