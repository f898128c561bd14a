#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures a large gallery over nodes: one bucket on each, and each bucket a gallery of shards_bench's.
# It is loaded into the first node, and the other nodes are copies of that database: files of their own
# for tables and cache, the same templates again. Time to load, first and later probes, bytes.
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
make_router node-0
export HEFT_STATE_DIR="$work/importer" PGSERVICEFILE="$work/services"
printf '[node-0]\nhost=%s\nuser=%s\ndbname=node-0\n' "$PGHOST" "$PGUSER" >"$work/services"
printf '[router]\nhost=%s\nuser=%s\ndbname=%s\n' "$PGHOST" "$PGUSER" "$PGDATABASE" >>"$work/services"
on node-0 -c "CREATE SCHEMA world" -c "CREATE TABLE world.files (name text PRIMARY KEY, bytes bytea)"
PGDATABASE=node-0 bring model "$folder/model.heft" evaluation "$folder/keys/evaluation.keys" \
  enrolment "$folder/keys/enrolment.keys" trust "$folder/keys/trust.heft"
on node-0 -c "INSERT INTO heft.files (bytes) SELECT bytes FROM world.files WHERE name <> 'trust'"
start="$EPOCHREALTIME"
passed() { awk -v now="$EPOCHREALTIME" -v start="$start" 'BEGIN { printf "%.1f", now - start }'; }
"$build/cli/heft-server" gallery copy --quiet --from "$folder/gallery:$gallery" \
  --gallery postgres:node-0:large.000 >/dev/null
loaded="$(passed)"
on node-0 -c "INSERT INTO heft.galleries (name, tenant, model, evaluation_keys, enrolment_keys, trust)
    SELECT 'large.000', current_user, sha256($(file model)), sha256($(file evaluation)),
      sha256($(file enrolment)), convert_from($(file trust), 'UTF8')"
id="$(on node-0 -c "SELECT gallery_id FROM heft.heft_stats('large.000')")"
sql -c "ALTER TABLE heft_router.buckets DROP CONSTRAINT buckets_gallery_id_key" \
  -c "INSERT INTO heft_router.galleries (name, tenant, buckets) VALUES ('large', current_user, $nodes)"
start="$EPOCHREALTIME"
for ((i = 1; i < nodes; ++i)); do
  sql -c "CREATE DATABASE \"node-$i\" TEMPLATE \"node-0\" STRATEGY file_copy"
  sql -c "SELECT heft_router.heft_add_node('node-$i', 'host=$PGHOST dbname=node-$i')" >/dev/null
  printf '[node-%s]\nhost=%s\nuser=%s\ndbname=node-%s\n' "$i" "$PGHOST" "$PGUSER" "$i" >>"$work/services"
done
copied="$(passed)"
# All are copies of the first bucket, and keep its name on their nodes: the check of names goes.
for ((i = 0; i < nodes; ++i)); do
  on "node-$i" -c "ALTER TABLE heft.buckets DROP CONSTRAINT buckets_check1" \
    -c "INSERT INTO heft.buckets (gallery, bucket, buckets, name) VALUES ('large', $i, $nodes, 'large.000')"
  sql -c "INSERT INTO heft_router.buckets (gallery, bucket, gallery_id, node) VALUES ('large', $i, '$id', $i)"
done
uptime >&2
# Each node's first probe fills its cache.
start="$EPOCHREALTIME"
"$build/bench/shards_bench" ask "$folder" "service=node-0" router 1 scores large >"$work/first.json"
first="$(passed)"
${QUIET:-} "$build/bench/shards_bench" ask "$folder" "service=node-0" router "$rounds" "$what" large >"$work/warm.json"
uptime >&2
cat "$work/warm.json"
printf '{"load_s": %s, "copy_s": %s, "first_s": %s, "database_bytes": %s, "blob_bytes": %s, "cache_bytes": %s}\n' \
  "$loaded" "$copied" "$first" "$(on node-0 -c "SELECT pg_database_size('node-0')")" \
  "$(on node-0 -c "SELECT pg_total_relation_size('heft.blobs')")" "$(du -sb "$state/stores/postgres/node-0/blobs" | cut -f1)"
