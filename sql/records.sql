
-- --- Results. Written by scripts/make-records from include/heft: do not edit.
CREATE TYPE heft.heft_enrol_result AS (
  brought bigint,
  pending bigint,
  templates bigint,
  blocks bigint,
  repeated boolean);
CREATE TYPE heft.heft_activate_result AS (
  activated bigint,
  rejected bigint,
  pending bigint,
  templates bigint,
  blocks bigint,
  overwritten boolean,
  kept boolean);
CREATE TYPE heft.heft_remove_result AS (
  removed bigint,
  erased bigint,
  leaving bigint,
  rejected bigint,
  generation bigint,
  overwritten boolean);
CREATE TYPE heft.heft_gallery_info AS (
  name text,
  gallery_id text,
  model_id text,
  key_id text,
  gamma bigint,
  generation bigint,
  root text,
  templates bigint,
  leaving bigint,
  pending bigint,
  places bigint,
  freed bigint,
  blocks bigint,
  started timestamptz,
  key_since timestamptz,
  verified timestamptz,
  intact boolean,
  retention_seconds bigint,
  retention_bytes bigint,
  journal_entries bigint,
  journal_bytes bigint,
  unfolded bigint,
  owner_journal_entry bigint,
  owner_journal_fork text,
  store_bytes bigint,
  store_live_bytes bigint,
  readers bigint);
