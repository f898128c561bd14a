// SPDX-License-Identifier: Apache-2.0
// The backend's side of jobs (sql/bridge.h): it serves their requests, and handles its interrupts
// meanwhile. Include postgres.h before this.
#ifndef HEFT_SQL_BACKEND_H_
#define HEFT_SQL_BACKEND_H_

#include "sql/bridge.h"

// HeftRights: the owner of the tables, with whose rights a call's requests are served, and whether
// the call reads the state that the calling query sees, or the newest.
typedef struct HeftRights {
  Oid owner;
  bool changes;
  const char* gallery;  // that is called
} HeftRights;

// RunJob: the finished job. Its error, database errors and interrupts are thrown. The memory of its
// result is freed with the current memory context.
HeftJob* RunJob(const HeftCall* call, const HeftSettings* settings, const HeftRights* rights);

// ServeRequest (sql/requests.c).
void ServeRequest(HeftRequest* request, const HeftRights* rights);
// EndSubtransactions: rolls back the subtransactions that a failed call began.
void EndSubtransactions(void);
// ForgetSnapshots: releases the snapshots that a call has taken.
void ForgetSnapshots(void);

// NoteChange: records that this transaction has changed the store. HasChanged: whether it has. Then
// no state that it reads may be signed.
void NoteChange(void);
bool HasChanged(void);

#endif  // HEFT_SQL_BACKEND_H_
