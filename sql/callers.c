// SPDX-License-Identifier: Apache-2.0
// clang-format off: it goes before all others
#include "postgres.h"
// clang-format on

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "sql/backend.h"
#include "sql/callers.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/syscache.h"

// As many as a gallery has buckets (include/heft/shards.h).
#define MOST_GALLERIES 1000

static char* state_directory = NULL;
static int cache_megabytes = 4096;
static int threads = 0;
static int writer_wait = 60;

PGDLLEXPORT void _PG_init(void);

void _PG_init(void) {
  DefineCustomStringVariable("heft.state_directory",
                             "Folder on the server for HEFT's signing key, its other keys, its log "
                             "of requests and the cache of blocks.",
                             NULL, &state_directory, "", PGC_SUSET, GUC_SUPERUSER_ONLY, NULL, NULL,
                             NULL);
  DefineCustomIntVariable("heft.cache_size", "Maximum size of the cache of blocks.", NULL,
                          &cache_megabytes, 4096, 0, INT_MAX / 2, PGC_SUSET, GUC_UNIT_MB, NULL,
                          NULL, NULL);
  DefineCustomIntVariable("heft.threads", "Threads of a call; 0: all cores.", NULL, &threads, 0, 0,
                          1024, PGC_SUSET, 0, NULL, NULL, NULL);
  DefineCustomIntVariable("heft.writer_wait", "How long a change waits for other writers.", NULL,
                          &writer_wait, 60, 0, 86400, PGC_USERSET, GUC_UNIT_S, NULL, NULL, NULL);
  MarkGUCPrefixReserved("heft");
}

static Oid OwnerOf(Oid function) {
  HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
  Oid owner;
  if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for function %u", function);
  owner = ((Form_pg_proc)GETSTRUCT(tuple))->proowner;
  ReleaseSysCache(tuple);
  return owner;
}

// Whether a query finds something, with the caller's own rights. `plan`: its plan, made at the
// first call; PostgreSQL makes it anew for another role, whose policies are others.
static bool Finds(SPIPlanPtr* plan, const char* query, const char* text) {
  Oid types[1] = {TEXTOID};
  Datum values[1];
  int done;
  bool found;
  SPI_connect();
  if (*plan == NULL) {
    const SPIPlanPtr made = SPI_prepare(query, 1, types);
    if (made == NULL || SPI_keepplan(made) != 0)
      elog(ERROR, "heft: %s: %s", SPI_result_code_string(SPI_result), query);
    *plan = made;
  }
  values[0] = CStringGetTextDatum(text);
  done = SPI_execute_plan(*plan, values, NULL, false, 1);
  found = done == SPI_OK_SELECT && SPI_processed == 1;
  SPI_finish();
  return found;
}

// The policies of heft.galleries decide which galleries the caller may see.
static void CheckVisible(const char* gallery) {
  static SPIPlanPtr plan = NULL;
  if (Finds(&plan, "SELECT 1 FROM heft.galleries WHERE name = $1", gallery)) return;
  ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                  errmsg("there is no gallery \"%s\", or it is another tenant's", gallery),
                  errhint("SELECT name FROM heft.galleries shows those that you may use.")));
}

static void CheckTenant(const HeftValue* tenant) {
  static SPIPlanPtr plan = NULL;
  char* const role = pnstrdup(tenant->data, tenant->size);
  if (Finds(&plan,
            "SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = $1::pg_catalog.name AND "
            "pg_catalog.pg_has_role(oid, 'MEMBER')",
            role))
    return;
  ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                  errmsg("there is no role \"%s\", or you are not a member of it", role)));
}

// Each gallery answers a request once. `galleries`: those before `i` were checked.
static void CheckOnce(const HeftValue* galleries, int i) {
  if (i >= MOST_GALLERIES)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("at most %d galleries can be searched at once", MOST_GALLERIES)));
  for (int before = 0; before < i; ++before) {
    if (galleries[before].size != galleries[i].size ||
        memcmp(galleries[before].data, galleries[i].data, galleries[i].size) != 0)
      continue;
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("galleries: \"%s\" is listed twice",
                           pnstrdup(galleries[i].data, galleries[i].size))));
  }
}

HeftJob* RunFor(Oid function, const HeftCall* call, HeftMay may) {
  const HeftSettings settings = {state_directory, get_database_name(MyDatabaseId),
                                 (int64_t)cache_megabytes << 20, threads, writer_wait};
  const bool changes = may == HEFT_MAY_CHANGE || may == HEFT_MAY_CREATE;
  const HeftRights rights = {OwnerOf(function), changes, call->gallery};
  if (GetDatabaseEncoding() != PG_UTF8)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("HEFT's identities are UTF-8, but this database has another encoding")));
  if (state_directory[0] != '/')
    ereport(
        ERROR,
        (errcode(ERRCODE_CONFIG_FILE_ERROR), errmsg("heft.state_directory does not name a folder"),
         errhint("A superuser must set it to a folder of the server's user, with mode 0700: ALTER "
                 "DATABASE ... SET heft.state_directory = '/var/lib/...'.")));
  if (may == HEFT_MAY_SIGN && HasChanged())
    ereport(
        ERROR,
        (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
         errmsg("this transaction has uncommitted changes of galleries, so no reply can be signed"),
         errhint("Commit first.")));
  if (may == HEFT_MAY_CREATE) {
    CheckTenant(&call->key);
  } else {
    CheckVisible(call->gallery);
  }
  for (int i = 1; i < call->galleries_count; ++i) {
    CheckOnce(call->galleries, i);
    CheckVisible(pnstrdup(call->galleries[i].data, call->galleries[i].size));
  }
  if (changes) PreventCommandIfReadOnly("a change of a gallery");
  return RunJob(call, &settings, &rights);
}
