// SPDX-License-Identifier: Apache-2.0
// The functions of the extension (sql/functions.sql): arguments in, results out. The caller's own
// rights decide which gallery it may name (sql/callers.c).
// clang-format off: it goes before all others
#include "postgres.h"
// clang-format on

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "sql/backend.h"
#include "sql/callers.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

PG_MODULE_MAGIC;

static HeftValue BytesOf(Datum datum) {
  struct varlena* bytes = PG_DETOAST_DATUM_PACKED(datum);
  return (HeftValue){HEFT_BYTES, 0, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes)};
}

static HeftValue TextOf(Datum datum) {
  HeftValue value = BytesOf(datum);
  value.type = HEFT_TEXT;
  return value;
}

static const HeftValue none = {HEFT_NULL, 0, NULL, 0};

static HeftValue OptionalText(FunctionCallInfo fcinfo, int i) {
  return PG_ARGISNULL(i) ? none : TextOf(PG_GETARG_DATUM(i));
}
static HeftValue OptionalBytes(FunctionCallInfo fcinfo, int i) {
  return PG_ARGISNULL(i) ? none : BytesOf(PG_GETARG_DATUM(i));
}

static void Demand(FunctionCallInfo fcinfo, int i, const char* what) {
  if (PG_ARGISNULL(i))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("no %s given", what)));
}

// The elements of an array of texts or bytes; NULL is none of them.
static const HeftValue* ElementsOf(FunctionCallInfo fcinfo, int i, const char* what, int* count) {
  ArrayType* array;
  Datum* datums;
  bool* nulls;
  HeftValue* values;
  bool text;
  *count = 0;
  if (PG_ARGISNULL(i)) return NULL;
  array = PG_GETARG_ARRAYTYPE_P(i);
  text = ARR_ELEMTYPE(array) == TEXTOID;
  if (ARR_NDIM(array) > 1)
    ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                    errmsg("%s: give a one-dimensional array", what)));
  deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_INT, &datums, &nulls, count);
  values = palloc0(Max(*count, 1) * sizeof(HeftValue));
  for (int e = 0; e < *count; ++e) {
    if (nulls[e])
      ereport(ERROR,
              (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s: an element is NULL", what)));
    values[e] = text ? TextOf(datums[e]) : BytesOf(datums[e]);
  }
  return values;
}

static Datum DatumOf(const HeftValue* value, Oid type, bool* null) {
  *null = value->type == HEFT_NULL;
  switch (value->type) {
    case HEFT_INTEGER:
      if (type == TIMESTAMPTZOID)
        return TimestampTzGetDatum(time_t_to_timestamptz((pg_time_t)value->integer));
      return Int64GetDatum(value->integer);
    case HEFT_BOOLEAN:
      return BoolGetDatum(value->integer != 0);
    case HEFT_BYTES:
    case HEFT_TEXT: {
      bytea* bytes;
      if (value->size > MaxAllocSize - VARHDRSZ)
        ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                        errmsg("a result of %zu bytes is too long for a value", value->size)));
      bytes = palloc(VARHDRSZ + value->size);
      SET_VARSIZE(bytes, VARHDRSZ + value->size);
      if (value->size > 0) memcpy(VARDATA(bytes), value->data, value->size);
      return PointerGetDatum(bytes);
    }
    default:
      return (Datum)0;
  }
}

// The first row, as a composite.
static Datum CompositeOf(FunctionCallInfo fcinfo, const HeftJob* job) {
  TupleDesc descriptor;
  Datum datums[32];
  bool nulls[32];
  size_t columns;
  const HeftValue* row = heft_job_row(job, 0, &columns);
  if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE ||
      (size_t)descriptor->natts != columns || columns > lengthof(datums))
    elog(ERROR, "heft: the extension's script has another version: ALTER EXTENSION heft UPDATE");
  descriptor = BlessTupleDesc(descriptor);
  for (size_t i = 0; i < columns; ++i)
    datums[i] = DatumOf(&row[i], TupleDescAttr(descriptor, i)->atttypid, &nulls[i]);
  return HeapTupleGetDatum(heap_form_tuple(descriptor, datums, nulls));
}

// All rows, as the set that is returned.
static void ReturnRows(FunctionCallInfo fcinfo, const HeftJob* job) {
  const ReturnSetInfo* const set = (ReturnSetInfo*)fcinfo->resultinfo;
  Datum datums[32];
  bool nulls[32];
  InitMaterializedSRF(fcinfo, 0);
  for (size_t r = 0; r < heft_job_rows(job); ++r) {
    size_t columns;
    const HeftValue* row = heft_job_row(job, r, &columns);
    if ((size_t)set->setDesc->natts != columns || columns > lengthof(datums))
      elog(ERROR, "heft: the extension's script has another version");
    for (size_t i = 0; i < columns; ++i)
      datums[i] = DatumOf(&row[i], TupleDescAttr(set->setDesc, i)->atttypid, &nulls[i]);
    tuplestore_putvalues(set->setResult, set->setDesc, datums, nulls);
    for (size_t i = 0; i < columns; ++i)
      if (row[i].type == HEFT_BYTES) pfree(DatumGetPointer(datums[i]));
  }
}

// The only field of the first row.
static Datum FieldOf(const HeftJob* job) {
  bool null;
  size_t columns;
  return DatumOf(heft_job_row(job, 0, &columns), InvalidOid, &null);
}

static HeftJob* Run(FunctionCallInfo fcinfo, HeftCall* call, HeftMay may) {
  Demand(fcinfo, 0, "gallery");
  call->gallery = text_to_cstring(PG_GETARG_TEXT_PP(0));
  return RunFor(fcinfo->flinfo->fn_oid, call, may);
}

PG_FUNCTION_INFO_V1(heft_create_gallery);
PGDLLEXPORT Datum heft_create_gallery(PG_FUNCTION_ARGS) {
  HeftCall call = {.work = HEFT_CREATE_GALLERY};
  HeftValue files[3];
  Demand(fcinfo, 1, "model");
  Demand(fcinfo, 2, "evaluation keys");
  Demand(fcinfo, 3, "trust file");
  Demand(fcinfo, 5, "tenant");
  files[0] = OptionalBytes(fcinfo, 1);
  files[1] = OptionalBytes(fcinfo, 2);
  files[2] = OptionalBytes(fcinfo, 4);
  call.files = files;
  call.files_count = PG_ARGISNULL(4) ? 2 : 3;
  call.text = OptionalText(fcinfo, 3);
  call.key.type = HEFT_TEXT;
  call.key.data = NameStr(*PG_GETARG_NAME(5));
  call.key.size = strlen(NameStr(*PG_GETARG_NAME(5)));
  PG_RETURN_DATUM(FieldOf(Run(fcinfo, &call, HEFT_MAY_CREATE)));
}

PG_FUNCTION_INFO_V1(heft_enrol);
PGDLLEXPORT Datum heft_enrol(PG_FUNCTION_ARGS) {
  HeftCall call = {.work = HEFT_ENROL};
  Demand(fcinfo, 1, "samples");
  call.files = ElementsOf(fcinfo, 1, "samples", &call.files_count);
  call.text = OptionalText(fcinfo, 2);
  call.more = ElementsOf(fcinfo, 3, "metadata", &call.more_count);
  if (!PG_ARGISNULL(4)) {
    const TimestampTz expires = PG_GETARG_TIMESTAMPTZ(4);
    if (TIMESTAMP_NOT_FINITE(expires) || timestamptz_to_time_t(expires) <= 0)
      ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                      errmsg("expires: give a time after 1970, or NULL for never")));
    call.expires = timestamptz_to_time_t(expires);
  }
  call.bytes = OptionalBytes(fcinfo, 5);
  call.key = OptionalText(fcinfo, 6);
  PG_RETURN_DATUM(CompositeOf(fcinfo, Run(fcinfo, &call, HEFT_MAY_CHANGE)));
}

PG_FUNCTION_INFO_V1(heft_pending);
PGDLLEXPORT Datum heft_pending(PG_FUNCTION_ARGS) {
  HeftCall call = {.work = HEFT_PENDING};
  PG_RETURN_DATUM(FieldOf(Run(fcinfo, &call, HEFT_MAY_SIGN)));
}

PG_FUNCTION_INFO_V1(heft_activate);
PGDLLEXPORT Datum heft_activate(PG_FUNCTION_ARGS) {
  HeftCall call = {.work = HEFT_ADMIT};
  Demand(fcinfo, 1, "admission");
  call.bytes = OptionalBytes(fcinfo, 1);
  PG_RETURN_DATUM(CompositeOf(fcinfo, Run(fcinfo, &call, HEFT_MAY_CHANGE)));
}

PG_FUNCTION_INFO_V1(heft_identify);
PGDLLEXPORT Datum heft_identify(PG_FUNCTION_ARGS) {
  HeftCall call = {.work = HEFT_IDENTIFY};
  Demand(fcinfo, 1, "probe");
  call.files = ElementsOf(fcinfo, 1, "probe", &call.files_count);
  call.more = ElementsOf(fcinfo, 2, "conditions", &call.more_count);
  call.flag = PG_ARGISNULL(3) || PG_GETARG_BOOL(3);
  PG_RETURN_DATUM(FieldOf(Run(fcinfo, &call, HEFT_MAY_SIGN)));
}

PG_FUNCTION_INFO_V1(heft_identify_many);
PGDLLEXPORT Datum heft_identify_many(PG_FUNCTION_ARGS) {
  HeftCall call = {.work = HEFT_IDENTIFY_MANY};
  Demand(fcinfo, 0, "galleries");
  Demand(fcinfo, 1, "probe");
  call.galleries = ElementsOf(fcinfo, 0, "galleries", &call.galleries_count);
  if (call.galleries_count == 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("no gallery given")));
  call.gallery = pnstrdup(call.galleries[0].data, call.galleries[0].size);
  call.files = ElementsOf(fcinfo, 1, "probe", &call.files_count);
  call.more = ElementsOf(fcinfo, 2, "conditions", &call.more_count);
  call.flag = PG_ARGISNULL(3) || PG_GETARG_BOOL(3);
  ReturnRows(fcinfo, RunFor(fcinfo->flinfo->fn_oid, &call, HEFT_MAY_SIGN));
  return (Datum)0;
}

PG_FUNCTION_INFO_V1(heft_verify);
PGDLLEXPORT Datum heft_verify(PG_FUNCTION_ARGS) {
  HeftCall call = {.work = HEFT_VERIFY};
  Demand(fcinfo, 1, "identity");
  Demand(fcinfo, 2, "samples");
  call.text = OptionalText(fcinfo, 1);
  call.files = ElementsOf(fcinfo, 2, "samples", &call.files_count);
  PG_RETURN_DATUM(FieldOf(Run(fcinfo, &call, HEFT_MAY_SIGN)));
}

PG_FUNCTION_INFO_V1(heft_remove);
PGDLLEXPORT Datum heft_remove(PG_FUNCTION_ARGS) {
  HeftCall call = {.work = HEFT_REMOVE};
  Demand(fcinfo, 1, "identities");
  call.more = ElementsOf(fcinfo, 1, "identities", &call.more_count);
  call.bytes = OptionalBytes(fcinfo, 2);
  PG_RETURN_DATUM(CompositeOf(fcinfo, Run(fcinfo, &call, HEFT_MAY_CHANGE)));
}

PG_FUNCTION_INFO_V1(heft_stats);
PGDLLEXPORT Datum heft_stats(PG_FUNCTION_ARGS) {
  HeftCall call = {.work = HEFT_STATS};
  PG_RETURN_DATUM(CompositeOf(fcinfo, Run(fcinfo, &call, HEFT_MAY_READ)));
}

PG_FUNCTION_INFO_V1(heft_list);
PGDLLEXPORT Datum heft_list(PG_FUNCTION_ARGS) {
  HeftCall call = {.work = HEFT_LIST};
  ReturnRows(fcinfo, Run(fcinfo, &call, HEFT_MAY_READ));
  return (Datum)0;
}

PG_FUNCTION_INFO_V1(heft_server_key);
PGDLLEXPORT Datum heft_server_key(PG_FUNCTION_ARGS) {
  HeftCall call = {.work = HEFT_SERVER_KEY};
  PG_RETURN_DATUM(FieldOf(Run(fcinfo, &call, HEFT_MAY_READ)));
}

PG_FUNCTION_INFO_V1(heft_bucket);
PGDLLEXPORT Datum heft_bucket(PG_FUNCTION_ARGS) {
  const HeftValue identity = TextOf(PG_GETARG_DATUM(0));
  const int bucket = heft_bucket_of(identity.data, identity.size, PG_GETARG_INT32(1));
  if (bucket < 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%d is not a number of buckets", PG_GETARG_INT32(1))));
  PG_RETURN_INT32(bucket);
}

// --- Checks of the types: true, or an error that says why not.
static bool Check(FunctionCallInfo fcinfo, HeftKind kind) {
  char error[512];
  const HeftValue value = BytesOf(PG_GETARG_DATUM(0));
  if (heft_check(kind, value.data, value.size, error, sizeof(error))) return true;
  ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION), errmsg("%s", error)));
}

#define CHECK(name, kind)    \
  PG_FUNCTION_INFO_V1(name); \
  PGDLLEXPORT Datum name(PG_FUNCTION_ARGS) { PG_RETURN_BOOL(Check(fcinfo, kind)); }

CHECK(heft_is_sample, HEFT_IS_SAMPLE)
CHECK(heft_is_template, HEFT_IS_TEMPLATE)
CHECK(heft_is_probe, HEFT_IS_PROBE)
CHECK(heft_is_reply, HEFT_IS_REPLY)
CHECK(heft_is_model, HEFT_IS_MODEL)
CHECK(heft_is_keys, HEFT_IS_KEYS)
CHECK(heft_is_request, HEFT_IS_REQUEST)
CHECK(heft_is_admission, HEFT_IS_ADMISSION)
