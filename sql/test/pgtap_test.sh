#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pgTAP's tests (pgtap/*.sql) on a database with two tenants' galleries.
#
#   pgtap_test.sh BUILD_DIR
set -euo pipefail
here="$(dirname -- "${BASH_SOURCE[0]}")"
source "$here/cluster.sh"
source "$here/world.sh"

[[ -f /usr/share/postgresql/15/extension/pgtap.control && -x /usr/bin/pg_prove ]] ||
  { echo "pgTAP is not installed: left out"; exit 77; }
start_cluster "$1"
# It is installed beside the server, so it is copied to where the server looks now.
mkdir -p "$work/destination/usr/share/postgresql/15/extension"
cp /usr/share/postgresql/15/extension/pgtap* "$work/destination/usr/share/postgresql/15/extension/"
make_world "$1"
encrypt enrolment 0 4 20 24
encrypt identification 5
"$heft" encrypt --quiet --model "$work/owner/model.heft" --key "$work/owner/keys/encryption.key" \
  --modality face voice --in "$work/samples/face.npy" "$work/samples/voice.npy" --row 0 --fuse client \
  --labels "$work/samples/labels.txt" --out "$work/client/fused.ct" >/dev/null
bring fused "$work/client/fused.ct"
sql -c "CREATE EXTENSION pgtap" -c "CREATE ROLE alice" -c "CREATE ROLE bob" -c "CREATE ROLE mallory" \
  -c "CREATE ROLE probing" -c "GRANT heft_prober TO probing" \
  -c "GRANT heft_admin, heft_enroller, heft_prober TO alice, bob" \
  -c "CREATE SCHEMA hers AUTHORIZATION alice"
make_gallery main alice
make_gallery others bob
enrol main 0 4
enrol others 0
activate main >/dev/null
identify main 5 "$work/reply"
bring reply "$work/reply"
pg_prove --ext .sql --failures "$here/pgtap"
