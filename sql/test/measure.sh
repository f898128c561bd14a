#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures identification through SQL against the library, on a gallery of gallery_bench.
#
#   measure.sh BUILD_DIR FOLDER [ROUNDS]
set -euo pipefail
here="$(dirname -- "${BASH_SOURCE[0]}")"
shared_buffers=256MB
# shellcheck source=sql/test/cluster.sh
source "$here/cluster.sh"
# shellcheck source=sql/test/world.sh
source "$here/world.sh"

build="$1" folder="$2"
start_cluster "$build"
sql -c "CREATE EXTENSION heft" -c "CREATE SCHEMA world" \
  -c "CREATE TABLE world.files (name text PRIMARY KEY, bytes bytea)"
bring model "$folder/model.heft" evaluation "$folder/keys/evaluation.keys" \
  enrolment "$folder/keys/enrolment.keys" trust "$folder/keys/trust.heft"
printf '[bench]\nhost=%s\nuser=%s\ndbname=%s\n' "$PGHOST" "$PGUSER" "$PGDATABASE" >"$work/services"
export PGSERVICEFILE="$work/services" HEFT_STATE_DIR="$work/importer"
"$build/cli/heft-server" gallery copy --quiet --from "$folder/gallery" --gallery postgres:bench:bench
sql >/dev/null <<SQL
INSERT INTO heft.files (bytes) SELECT bytes FROM world.files WHERE name <> 'trust';
INSERT INTO heft.galleries (name, tenant, model, evaluation_keys, enrolment_keys, trust)
SELECT 'bench', current_user, sha256($(file model)), sha256($(file evaluation)),
  sha256($(file enrolment)), convert_from($(file trust), 'UTF8');
SQL
uptime >&2
"$build/bench/extension_bench" "$folder" "service=bench" bench "${3:-21}"
uptime >&2
sql -c "SELECT pg_size_pretty(pg_total_relation_size('heft.blobs'))" >&2
du -sh "$state" >&2
