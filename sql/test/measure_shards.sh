#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the time that a router and its fan-out, and heft-matcher's, add to a probe. Galleries of
# shards_bench: whole on one node; in 1, 2 and 4 buckets on as many nodes; and in 4 on one. Each node
# is a database of one server.
#
#   measure_shards.sh BUILD_DIR FOLDER [ROUNDS]     FOLDER: of shards_bench make
#   BEFORE=COMMAND: runs after the preparation, before the first measurement
set -euo pipefail
here="$(dirname -- "${BASH_SOURCE[0]}")"
shared_buffers=256MB
# shellcheck source=sql/test/cluster.sh
source "$here/cluster.sh"
# shellcheck source=sql/test/world.sh
source "$here/world.sh"
# shellcheck source=sql/test/shards.sh
source "$here/shards.sh"

build="$1" folder="$2"
need_plproxy
start_cluster "$build"
sql -c "CREATE EXTENSION heft"
make_router node-0 node-1 node-2 node-3 node-4
export HEFT_STATE_DIR="$work/importer" PGSERVICEFILE="$work/services"
for i in 0 1 2 3 4; do
  printf '[node-%s]\nhost=%s\nuser=%s\ndbname=node-%s\n' "$i" "$PGHOST" "$PGUSER" "$i" >>"$work/services"
  on "node-$i" -c "CREATE SCHEMA world" -c "CREATE TABLE world.files (name text PRIMARY KEY, bytes bytea)"
  PGDATABASE="node-$i" bring model "$folder/model.heft" evaluation "$folder/keys/evaluation.keys" \
    enrolment "$folder/keys/enrolment.keys" trust "$folder/keys/trust.heft"
  on "node-$i" -c "INSERT INTO heft.files (bytes) SELECT bytes FROM world.files WHERE name <> 'trust'"
done

printf '[router]\nhost=%s\nuser=%s\ndbname=%s\n' "$PGHOST" "$PGUSER" "$PGDATABASE" >>"$work/services"

# place NODE FROM NAME: a gallery, and its server's files.
place() {
  "$build/cli/heft-server" gallery copy --quiet --from "$folder/gallery:$2" \
    --gallery "postgres:node-$1:$3" >/dev/null
  on "node-$1" -c "INSERT INTO heft.galleries (name, tenant, model, evaluation_keys, enrolment_keys, trust)
    SELECT '$3', current_user, sha256($(file model)), sha256($(file evaluation)),
      sha256($(file enrolment)), convert_from($(file trust), 'UTF8')"
}
# bucket NAME COUNT BUCKET NODE FROM: the same, as a bucket in the router's map.
bucket() {
  local name id
  name="$1.00$3"
  place "$4" "$5" "$name"
  on "node-$4" -c "INSERT INTO heft.buckets (gallery, bucket, buckets, name) VALUES ('$1', $3, $2, '$name')"
  id="$(on "node-$4" -c "SELECT gallery_id FROM heft.heft_stats('$name')")"
  sql -c "INSERT INTO heft_router.galleries (name, tenant, buckets) VALUES ('$1', current_user, $2)
      ON CONFLICT DO NOTHING" \
    -c "INSERT INTO heft_router.buckets (gallery, bucket, gallery_id, node) VALUES ('$1', $3, '$id', $4)"
}

# Here a gallery is a bucket twice: on four nodes, and on one.
sql -c "ALTER TABLE heft_router.buckets DROP CONSTRAINT buckets_gallery_id_key"
place 0 whole whole
bucket one 1 0 1 whole
for b in 0 1; do bucket two 2 "$b" "$b" "two.00$b"; done
for b in 0 1 2 3; do bucket four 4 "$b" "$b" "four.00$b"; done
for b in 0 1 2 3; do bucket four_on_one 4 "$b" 4 "four.00$b"; done
[[ -z "${BEFORE:-}" ]] || eval "$BEFORE"
uptime >&2
"$build/bench/shards_bench" ask "$folder" "service=node-0" router "${3:-21}"
uptime >&2
