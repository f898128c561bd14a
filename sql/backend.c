// SPDX-License-Identifier: Apache-2.0
// clang-format off: it goes before all others
#include "postgres.h"
// clang-format on

#include "executor/spi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "sql/backend.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

// The job of this backend, which may be left by an error at any time: it ends with the memory that
// its result goes into, at the latest.
typedef struct Held {
  HeftJob* job;
  MemoryContextCallback callback;
} Held;

#define MOST_MESSAGE 2000  // bytes

static bool running = false;
static Held* current = NULL;

static void EndHeld(void* held) {
  HeftJob* const job = ((Held*)held)->job;
  ((Held*)held)->job = NULL;
  if (current == held) current = NULL;
  heft_job_end(job);
}

// A backend that ends in the middle of a call: no thread works on while it takes itself apart.
static void EndAtExit(int code, Datum unused) {
  if (current != NULL) EndHeld(current);
}

static Held* Hold(MemoryContext context) {
  static bool prepared = false;
  Held* const held = MemoryContextAllocZero(context, sizeof(Held));
  if (!prepared) before_shmem_exit(EndAtExit, 0);
  prepared = true;
  held->callback.func = EndHeld;
  held->callback.arg = held;
  MemoryContextRegisterResetCallback(context, &held->callback);
  return held;
}

static void WaitForJob(int descriptor) {
  const int events =
      WaitLatchOrSocket(MyLatch, WL_LATCH_SET | WL_SOCKET_READABLE | WL_EXIT_ON_PM_DEATH,
                        descriptor, -1, PG_WAIT_EXTENSION);
  if (events & WL_SOCKET_READABLE) heft_job_quiet();
  if (events & WL_LATCH_SET) ResetLatch(MyLatch);
}

// Serves the job until it is done. Errors and interrupts leave by the caller's PG_CATCH.
static void ServeJob(HeftJob* job, int descriptor, const HeftRights* rights) {
  while (!heft_job_done(job)) {
    HeftRequest* const request = heft_job_next(job);
    if (request == NULL) {
      WaitForJob(descriptor);
    } else {
      ServeRequest(request, rights);
      heft_job_answer(job, request);
    }
    CHECK_FOR_INTERRUPTS();
  }
}

static void ThrowErrorOf(const HeftJob* job) {
  const char* state = NULL;
  const char* error = heft_job_error(job, &state);
  if (error == NULL) return;
  // It may name what the caller has sent, of any length, and goes into the server's log.
  ereport(ERROR,
          (errcode(MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4])),
           errmsg("%.*s", pg_mbcliplen(error, (int)strnlen(error, MOST_MESSAGE + 4), MOST_MESSAGE),
                  error)));
}

// The caller's rights and subtransactions are as they were, whatever has happened.
static void Leave(Oid user, int context) {
  EndSubtransactions();
  ForgetSnapshots();
  SetUserIdAndSecContext(user, context);
  running = false;
}

HeftJob* RunJob(const HeftCall* call, const HeftSettings* settings, const HeftRights* rights) {
  const MemoryContext result = CurrentMemoryContext;
  const ResourceOwner owner = CurrentResourceOwner;
  const int descriptor = heft_job_descriptor();
  Held* held;
  Oid user;
  int context;
  if (running)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
                    errmsg("a function of heft already runs in this session")));
  if (descriptor < 0)
    ereport(ERROR,
            (errcode(ERRCODE_INSUFFICIENT_RESOURCES), errmsg("no file descriptor is free: %m")));
  held = Hold(result);
  GetUserIdAndSecContext(&user, &context);
  PG_TRY();
  {
    running = true;
    SetUserIdAndSecContext(rights->owner, context | SECURITY_LOCAL_USERID_CHANGE);
    SPI_connect();
    current = held;
    held->job = heft_job_start(call, settings);
    if (held->job == NULL)
      ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_RESOURCES),
                      errmsg("the system could not start a thread"),
                      errhint("Raise the server's limits on memory and tasks.")));
    ServeJob(held->job, descriptor, rights);
    ThrowErrorOf(held->job);
    Leave(user, context);
    SPI_finish();
  }
  PG_CATCH();
  {
    // The job's thread first: then there are no more requests.
    ErrorData* error;
    MemoryContextSwitchTo(result);
    error = CopyErrorData();
    FlushErrorState();
    EndHeld(held);
    Leave(user, context);
    CurrentResourceOwner = owner;
    MemoryContextSwitchTo(result);
    ReThrowError(error);
  }
  PG_END_TRY();
  MemoryContextSwitchTo(result);
  return held->job;
}
