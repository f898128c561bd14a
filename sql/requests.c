// SPDX-License-Identifier: Apache-2.0
// Requests of a job, by SPI: in the backend's own thread. Errors jump out of here.
// clang-format off: it goes before all others
#include "postgres.h"
// clang-format on

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "sql/backend.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#define MOST_PARAMETERS 32
#define MOST_COLUMNS 32
#define MOST_PLANS 256
#define MOST_SNAPSHOTS 16
#define MOST_DEPTH 4

// The statements that the store has are few, and each is planned once a session.
typedef struct HeldPlan {
  char* sql;
  Oid types[MOST_PARAMETERS];
  int count;
  SPIPlanPtr plan;
} HeldPlan;
static HeldPlan plans[MOST_PLANS];
static int plans_count = 0;

static Snapshot snapshots[MOST_SNAPSHOTS];
static LocalTransactionId changed = InvalidLocalTransactionId;

void NoteChange(void) { changed = MyProc->lxid; }
bool HasChanged(void) { return changed != InvalidLocalTransactionId && changed == MyProc->lxid; }

static Oid TypeOf(const HeftValue* value) {
  switch (value->type) {
    case HEFT_TEXT:
      return TEXTOID;
    case HEFT_INTEGER:
      return INT8OID;
    case HEFT_BOOLEAN:
      return BOOLOID;
    case HEFT_BYTES_ARRAY:
      return BYTEAARRAYOID;
    case HEFT_INTEGER_ARRAY:
      return INT8ARRAYOID;
    case HEFT_NULL:
    case HEFT_BYTES:
      break;
  }
  return BYTEAOID;
}

static Datum DatumOf(const HeftValue* value, bool* null);

static Datum ArrayOf(const HeftValue* value) {
  const HeftValue* elements = value->data;
  const bool integers = value->type == HEFT_INTEGER_ARRAY;
  Datum* datums = palloc(Max(value->size, 1) * sizeof(Datum));
  bool* nulls = palloc(Max(value->size, 1) * sizeof(bool));
  int dimension = (int)value->size, lower = 1;
  for (size_t i = 0; i < value->size; ++i) datums[i] = DatumOf(&elements[i], &nulls[i]);
  if (value->size == 0)
    return PointerGetDatum(construct_empty_array(integers ? INT8OID : BYTEAOID));
  return PointerGetDatum(construct_md_array(
      datums, nulls, 1, &dimension, &lower, integers ? INT8OID : BYTEAOID, integers ? 8 : -1,
      integers ? FLOAT8PASSBYVAL : false, integers ? TYPALIGN_DOUBLE : TYPALIGN_INT));
}

static Datum DatumOf(const HeftValue* value, bool* null) {
  *null = value->type == HEFT_NULL;
  switch (value->type) {
    case HEFT_NULL:
      break;
    case HEFT_INTEGER:
      return Int64GetDatum(value->integer);
    case HEFT_BOOLEAN:
      return BoolGetDatum(value->integer != 0);
    case HEFT_BYTES_ARRAY:
    case HEFT_INTEGER_ARRAY:
      return ArrayOf(value);
    case HEFT_BYTES:
    case HEFT_TEXT: {
      bytea* bytes;
      if (value->size > MaxAllocSize - VARHDRSZ)
        ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                        errmsg("a value of %zu bytes is too long for a table", value->size)));
      bytes = palloc(VARHDRSZ + value->size);
      SET_VARSIZE(bytes, VARHDRSZ + value->size);
      if (value->size > 0) memcpy(VARDATA(bytes), value->data, value->size);
      return PointerGetDatum(bytes);
    }
  }
  return (Datum)0;
}

static SPIPlanPtr PlanOf(const HeftRequest* request) {
  Oid types[MOST_PARAMETERS];
  SPIPlanPtr plan;
  if (request->count > MOST_PARAMETERS) elog(ERROR, "heft: too many parameters");
  for (int i = 0; i < request->count; ++i) types[i] = TypeOf(&request->parameters[i]);
  for (int i = 0; i < plans_count; ++i) {
    if (plans[i].count == request->count &&
        memcmp(plans[i].types, types, (size_t)request->count * sizeof(Oid)) == 0 &&
        strcmp(plans[i].sql, request->sql) == 0)
      return plans[i].plan;
  }
  plan = SPI_prepare(request->sql, request->count, types);
  if (plan == NULL) elog(ERROR, "heft: %s: %s", SPI_result_code_string(SPI_result), request->sql);
  if (plans_count == MOST_PLANS || SPI_keepplan(plan) != 0) return plan;
  plans[plans_count].sql = MemoryContextStrdup(TopMemoryContext, request->sql);
  memcpy(plans[plans_count].types, types, sizeof(types));
  plans[plans_count].count = request->count;
  plans[plans_count].plan = plan;
  ++plans_count;
  return plan;
}

// A value in PostgreSQL's binary form; `room` holds a value that is not in memory already.
static HeftValue SentValue(Datum datum, Oid type, uint8* room) {
  HeftValue value = {HEFT_BYTES, 0, room, 0};
  switch (type) {
    case BYTEAOID:
    case TEXTOID: {
      struct varlena* bytes = PG_DETOAST_DATUM_PACKED(datum);
      value.data = VARDATA_ANY(bytes);
      value.size = VARSIZE_ANY_EXHDR(bytes);
      return value;
    }
    case INT8OID: {
      const uint64 sent = pg_hton64((uint64)DatumGetInt64(datum));
      memcpy(room, &sent, sizeof(sent));
      value.size = sizeof(sent);
      return value;
    }
    case INT4OID: {
      const uint32 sent = pg_hton32((uint32)DatumGetInt32(datum));
      memcpy(room, &sent, sizeof(sent));
      value.size = sizeof(sent);
      return value;
    }
    case BOOLOID:
      room[0] = DatumGetBool(datum) ? 1 : 0;
      value.size = 1;
      return value;
    case UUIDOID:
      value.data = DatumGetPointer(datum);
      value.size = 16;
      return value;
    default:
      elog(ERROR, "heft: a statement returned type %u", type);
  }
}

static void ReturnRows(HeftRequest* request) {
  const TupleDesc columns = SPI_tuptable->tupdesc;
  if (columns->natts > MOST_COLUMNS) elog(ERROR, "heft: too many columns");
  for (uint64 row = 0; row < SPI_tuptable->numvals; ++row) {
    HeftValue values[MOST_COLUMNS] = {{HEFT_NULL, 0, NULL, 0}};
    uint8 room[MOST_COLUMNS][8];
    for (int i = 0; i < columns->natts; ++i) {
      bool null;
      const Datum datum = SPI_getbinval(SPI_tuptable->vals[row], columns, i + 1, &null);
      values[i] = (HeftValue){HEFT_NULL, 0, NULL, 0};
      if (!null) values[i] = SentValue(datum, SPI_gettypeid(columns, i + 1), room[i]);
    }
    if (!heft_request_row(request, values, columns->natts))
      ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
  }
}

static void Statement(HeftRequest* request) {
  Datum values[MOST_PARAMETERS];
  char nulls[MOST_PARAMETERS];
  int done;
  const SPIPlanPtr plan = PlanOf(request);
  for (int i = 0; i < request->count; ++i) {
    bool null;
    values[i] = DatumOf(&request->parameters[i], &null);
    nulls[i] = null ? 'n' : ' ';
  }
  done = SPI_execute_snapshot(plan, values, nulls,
                              request->snapshot ? request->snapshot : InvalidSnapshot,
                              InvalidSnapshot, request->snapshot != NULL, true, 0);
  if (done < 0) elog(ERROR, "heft: %s: %s", SPI_result_code_string(done), request->sql);
  if (SPI_tuptable != NULL) {
    ReturnRows(request);
    SPI_freetuptable(SPI_tuptable);
  }
}

static void TakeSnapshot(HeftRequest* request, const HeftRights* rights) {
  for (int i = 0; i < MOST_SNAPSHOTS; ++i) {
    if (snapshots[i] != NULL) continue;
    // Of the transaction, as a reader may outlive the subtransaction in which it begins.
    snapshots[i] = RegisterSnapshotOnOwner(
        rights->changes || !ActiveSnapshotSet() ? GetTransactionSnapshot() : GetActiveSnapshot(),
        TopTransactionResourceOwner);
    request->snapshot = snapshots[i];
    return;
  }
  elog(ERROR, "heft: too many states are read at once");
}

static void DropSnapshot(const HeftRequest* request) {
  for (int i = 0; i < MOST_SNAPSHOTS; ++i) {
    if (snapshots[i] == NULL || snapshots[i] != request->snapshot) continue;
    UnregisterSnapshotFromOwner(snapshots[i], TopTransactionResourceOwner);
    snapshots[i] = NULL;
    return;
  }
}

void ForgetSnapshots(void) {
  for (int i = 0; i < MOST_SNAPSHOTS; ++i) {
    if (snapshots[i] != NULL)
      UnregisterSnapshotFromOwner(snapshots[i], TopTransactionResourceOwner);
    snapshots[i] = NULL;
  }
}

// A bucket that moves to another node is not changed here any more (sql/buckets.sql). Asked under
// the store's lock, and with the row's: who starts a move waits for this transaction.
static void CheckStays(const char* gallery) {
  static SPIPlanPtr plan = NULL;
  Oid types[1] = {TEXTOID};
  Datum values[1] = {CStringGetTextDatum(gallery)};
  if (plan == NULL) {
    const SPIPlanPtr made = SPI_prepare(
        "SELECT state = 'serving' FROM heft.buckets WHERE name = $1 FOR SHARE", 1, types);
    if (made == NULL || SPI_keepplan(made) != 0)
      elog(ERROR, "heft: %s: heft.buckets", SPI_result_code_string(SPI_result));
    plan = made;
  }
  if (SPI_execute_plan(plan, values, NULL, false, 1) != SPI_OK_SELECT)
    elog(ERROR, "heft: %s: heft.buckets", SPI_result_code_string(SPI_result));
  if (SPI_processed == 1) {
    bool null;
    if (!DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null)))
      ereport(ERROR,
              (errcode(MAKE_SQLSTATE('H', 'F', '0', '0', '3')),
               errmsg("\"%s\" is being moved to another node, and only answers probes", gallery),
               errhint("Try again after the move.")));
  }
  SPI_freetuptable(SPI_tuptable);
}

// Waits in the queue of the database's own lock, no longer than asked for, or than the session's
// lock_timeout says; that error ends the call.
static void Lock(const HeftRequest* request, const HeftRights* rights) {
  char milliseconds[32];
  const int level = NewGUCNestLevel();
  const int wait = Max(request->depth, 1);
  snprintf(milliseconds, sizeof(milliseconds), "%d",
           LockTimeout > 0 && LockTimeout < wait ? LockTimeout : wait);
  (void)set_config_option("lock_timeout", milliseconds, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
                          true, 0, false);
  (void)DirectFunctionCall2(pg_advisory_xact_lock_int4, Int32GetDatum(0x48454654),
                            Int32GetDatum(1));
  CheckStays(rights->gallery);
  AtEOXact_GUC(true, level);
}

// Subtransactions: each has a resource owner of its own while it lasts.
static ResourceOwner owners[MOST_DEPTH];
static int depths[MOST_DEPTH];
static int depth = 0;

static void Begin(HeftRequest* request) {
  if (depth == MOST_DEPTH) elog(ERROR, "heft: subtransactions too deep");
  owners[depth] = CurrentResourceOwner;
  BeginInternalSubTransaction(NULL);
  request->depth = depths[depth++] = GetCurrentTransactionNestLevel();
}

static void End(const HeftRequest* request, bool commit) {
  if (depth == 0 || request->depth != depths[depth - 1] ||
      request->depth != GetCurrentTransactionNestLevel())
    elog(ERROR, "heft: subtransactions end in another order than they began");
  --depth;
  if (commit) {
    ReleaseCurrentSubTransaction();
  } else {
    RollbackAndReleaseCurrentSubTransaction();
  }
  CurrentResourceOwner = owners[depth];
}

void EndSubtransactions(void) {
  while (depth > 0) {
    const HeftRequest last = {.depth = depths[depth - 1]};
    End(&last, false);
  }
}

static void Serve(HeftRequest* request, const HeftRights* rights) {
  switch (request->kind) {
    case HEFT_STATEMENT:
      Statement(request);
      break;
    case HEFT_TAKE_SNAPSHOT:
      TakeSnapshot(request, rights);
      break;
    case HEFT_DROP_SNAPSHOT:
      DropSnapshot(request);
      break;
    case HEFT_BEGIN:
      if (!rights->changes)
        ereport(ERROR, (errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
                        errmsg("this function changes nothing")));
      PreventCommandIfReadOnly("a change of a gallery");
      Begin(request);
      break;
    case HEFT_COMMIT:
      NoteChange();
      End(request, true);
      break;
    case HEFT_ROLL_BACK:
      End(request, false);
      break;
    case HEFT_LOCK:
      Lock(request, rights);
      break;
  }
}

void ServeRequest(HeftRequest* request, const HeftRights* rights) {
  // What a request takes is gone after it.
  const MemoryContext context = CurrentMemoryContext;
  const MemoryContext own =
      AllocSetContextCreate(context, "HEFT's request", ALLOCSET_DEFAULT_SIZES);
  MemoryContextSwitchTo(own);
  Serve(request, rights);
  MemoryContextSwitchTo(context);
  MemoryContextDelete(own);
}
