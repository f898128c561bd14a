#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Interfaces to a server's files, for test_faces.py; each prints where it is, and ends with its input.
#
#   faces_world.sh http FOLDER STORE KEYS MODEL   heft-matcher on $PATH, with throw-away certificates
#   faces_world.sh sql BUILD                      a throw-away PostgreSQL with the extension
set -euo pipefail
root_of_source="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)"
if [[ "$1" == sql ]]; then
  # shellcheck source=sql/test/cluster.sh
  source "$root_of_source/sql/test/cluster.sh"
  start_cluster "$2"
  sql -c "CREATE EXTENSION heft" >/dev/null
  echo "$PGHOST"
  read -r _ || true
  exit
fi
# shellcheck source=scripts/common.sh
source "$root_of_source/scripts/common.sh"
# shellcheck source=scripts/service-world.sh
source "$root_of_source/scripts/service-world.sh"
umask 077
work="$2" store="$3" keys="$4" model="$5" daemons=()
trap end_daemons EXIT
mkdir "$work/pki" "$work/owner"
make_certificates matcher client operator registrar
port="$(free_port)"
{
  common_configuration "$port" matcher "$work"
  cat <<TOML
[[certificate]]
subject = "client"
roles = ["client"]
[[certificate]]
subject = "registrar"
roles = ["registrar"]
[store]
folder = "$store"
[keys]
model = "$model"
evaluation = "$keys/evaluation.keys"
enrolment = "$keys/enrolment.keys"
trust = "$keys/trust.heft"
TOML
} >"$work/matcher.toml"
heft-matcher serve --config "$work/matcher.toml" 2>"$work/log" &
daemons+=($!)
wait_until_ready "https://localhost:$port" "${daemons[0]}"
echo "https://localhost:$port"
read -r _ || true
