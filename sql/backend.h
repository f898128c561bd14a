// SPDX-License-Identifier: Apache-2.0
// The backend's side of jobs (sql/bridge.h): it serves their requests, and takes its interrupts
// meanwhile. postgres.h goes before this.
#ifndef HEFT_SQL_BACKEND_H_
#define HEFT_SQL_BACKEND_H_

#include "sql/bridge.h"

// Of a call: who owns the tables, with whose rights requests are served; and whether what it reads
// is the state that the calling query sees, or the newest.
typedef struct HeftRights {
  Oid owner;
  bool changes;
  const char* gallery;  // that is called
} HeftRights;

// RunJob: the job, done; its error is thrown, as those of the database and the interrupts are. The
// memory of its result goes with the current memory context.
HeftJob* RunJob(const HeftCall* call, const HeftSettings* settings, const HeftRights* rights);

// ServeRequest (sql/requests.c).
void ServeRequest(HeftRequest* request, const HeftRights* rights);
// EndSubtransactions: of a call that failed, those that it began, without effect.
void EndSubtransactions(void);
// ForgetSnapshots: lets go of those that a call has taken.
void ForgetSnapshots(void);

// Changed: that this transaction has changed the store, and whether it has: what it then reads is
// no state that anybody signs.
void NoteChange(void);
bool HasChanged(void);

#endif  // HEFT_SQL_BACKEND_H_
