#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures a large gallery over nodes: one bucket on each, and each bucket a gallery of shards_bench's,
# the same templates each time. Time to load, first and later probes, bytes. "whole" is one bucket alone.
#
#   measure_large.sh BUILD_DIR FOLDER GALLERY NODES [ROUNDS [names | scores]]
#       FOLDER, GALLERY: of shards_bench make; prints JSON
#   QUIET=COMMAND: what the warm probes are asked through
set -euo pipefail
here="$(dirname -- "${BASH_SOURCE[0]}")"
shared_buffers=256MB
# shellcheck source=sql/test/cluster.sh
source "$here/cluster.sh"
# shellcheck source=sql/test/world.sh
source "$here/world.sh"
# shellcheck source=sql/test/shards.sh
source "$here/shards.sh"

build="$1" folder="$2" gallery="$3" nodes="$4" rounds="${5:-21}" what="${6:-scores}"
need_plproxy
start_cluster "$build"
sql -c "CREATE EXTENSION heft"
names=(alone)
for ((i = 0; i < nodes; ++i)); do names+=("node-$i"); done
make_router "${names[@]}"
export HEFT_STATE_DIR="$work/importer" PGSERVICEFILE="$work/services"
printf '[%s]\nhost=%s\nuser=%s\ndbname=%s\n' router "$PGHOST" "$PGUSER" "$PGDATABASE" >"$work/services"
# place NODE NAME: a gallery of this name, with its server's files.
place() {
  printf '[%s]\nhost=%s\nuser=%s\ndbname=%s\n' "$1" "$PGHOST" "$PGUSER" "$1" >>"$work/services"
  on "$1" -c "CREATE SCHEMA world" -c "CREATE TABLE world.files (name text PRIMARY KEY, bytes bytea)"
  PGDATABASE="$1" bring model "$folder/model.heft" evaluation "$folder/keys/evaluation.keys" \
    enrolment "$folder/keys/enrolment.keys" trust "$folder/keys/trust.heft"
  on "$1" -c "INSERT INTO heft.files (bytes) SELECT bytes FROM world.files WHERE name <> 'trust'"
  "$build/cli/heft-server" gallery copy --quiet --from "$folder/gallery:$gallery" --gallery "postgres:$1:$2" >/dev/null
  on "$1" -c "INSERT INTO heft.galleries (name, tenant, model, evaluation_keys, enrolment_keys, trust)
      SELECT '$2', current_user, sha256($(file model)), sha256($(file evaluation)),
        sha256($(file enrolment)), convert_from($(file trust), 'UTF8')"
}
passed() { awk -v now="$EPOCHREALTIME" -v start="$start" 'BEGIN { printf "%.1f", now - start }'; }
sql -c "ALTER TABLE heft_router.buckets DROP CONSTRAINT buckets_gallery_id_key" \
  -c "INSERT INTO heft_router.galleries (name, tenant, buckets) VALUES ('large', current_user, $nodes)"
start="$EPOCHREALTIME"
for ((i = 0; i < nodes; ++i)); do
  name="$(printf 'large.%03d' "$i")"
  place "node-$i" "$name"
  on "node-$i" -c "INSERT INTO heft.buckets (gallery, bucket, buckets, name) VALUES ('large', $i, $nodes, '$name')"
  id="$(on "node-$i" -c "SELECT gallery_id FROM heft.heft_stats('$name')")"
  sql -c "INSERT INTO heft_router.buckets (gallery, bucket, gallery_id, node)
    SELECT 'large', $i, '$id', number FROM heft_router.nodes WHERE name = 'node-$i'"
done
loaded="$(passed)"
place alone whole
uptime >&2
# Each node's first probe fills its cache.
start="$EPOCHREALTIME"
"$build/bench/shards_bench" ask "$folder" service=alone router 1 scores large >"$work/first.json"
first="$(passed)"
${QUIET:-} "$build/bench/shards_bench" ask "$folder" service=alone router "$rounds" "$what" large >"$work/warm.json"
uptime >&2
cat "$work/warm.json"
printf '{"load_s": %s, "first_s": %s, "database_bytes": %s, "blob_bytes": %s, "cache_bytes": %s}\n' \
  "$loaded" "$first" "$(on node-0 -c "SELECT pg_database_size('node-0')")" \
  "$(on node-0 -c "SELECT pg_total_relation_size('heft.blobs')")" "$(du -sb "$state/stores/postgres/node-0/blobs" | cut -f1)"
