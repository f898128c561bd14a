#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# heft-matcher and heft-decider with a gallery in buckets: the matcher asks the nodes itself, without
# PL/Proxy's calls, and the decider decides from the replies of all buckets. A node that is away,
# hangs, or has lost a bucket is an error, and a bucket that was moved is found again.
#
#   services_test.sh BUILD_DIR
set -euo pipefail
here="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)"
source "$here/cluster.sh"
source "$here/world.sh"
source "$here/shards.sh"

# Vectors that a decision at the usual rates tells apart.
make_model() {
  "$heft" synth --quiet --out "$work/samples" --identities 120 --samples 4 --dimensions 128 128 --jitter 0.3 0.3 >/dev/null
  "$heft" train --quiet --data "$work/samples" --out "$work/owner/model.heft" --gamma 32 --no-exact --profile "$1" >/dev/null
}

need_plproxy
matcher="$1/service/matcher/heft-matcher" decider="$1/service/decider/heft-decider"
[[ -x "$matcher" && -x "$decider" ]] || { echo "the services are not built: left out"; exit 77; }
start_cluster "$1"
make_world "$1"
rows="0 4 8 12 16 20"
# shellcheck disable=SC2086
{ encrypt enrolment $rows 5; encrypt identification 5; }
make_router node-a node-b
sql -c "CREATE ROLE clinic" -c "CREATE ROLE prober LOGIN" -c "GRANT clinic, heft_prober TO prober"
make_sharded main 4 clinic
# shellcheck disable=SC2086
enrol_sharded main $rows
activate_sharded main

# From here on `as`, `ask` and `die` are those of the services.
# shellcheck source=scripts/common.sh
source "$here/../../scripts/common.sh"
# shellcheck source=scripts/service-world.sh
source "$here/../../scripts/service-world.sh"
daemons=()
# Not end_daemons: it waits for the database's server, too.
stop_daemons() {
  ((${#daemons[@]} == 0)) || kill -TERM "${daemons[@]}" 2>/dev/null || true
  ((${#daemons[@]} == 0)) || wait "${daemons[@]}" || true
  daemons=()
}
trap 'stop_daemons; stop_cluster' EXIT
mkdir "$work"/{matcher,pki}
chmod 700 "$work"/{matcher,pki}
cp "$work/owner/model.heft" "$work/owner/keys/"{encryption.key,evaluation.keys,enrolment.keys,trust.heft} "$work/matcher/"
make_certificates matcher decider operator client
# The key of this world has no passphrase, and its gallery is in buckets.
gallery=""
write_configurations
: >"$work/owner/passphrase"
sed -i -e '/^passphrase = /d' -e "s|^id = .*|shards = \"$work/main.shards\"|" -e 's/^name = .*/name = "main"/' "$work/owner/decider.toml"
printf '[shards]\nrouter = "router"\ngalleries = ["main"]\n' >>"$work/matcher/matcher.toml"
export PGSERVICEFILE="$work/services"
printf '[%s]\nhost=%s\nuser=prober\ndbname=%s\n' router "$PGHOST" "$PGDATABASE" node-a "$PGHOST" node-a \
  node-b "$PGHOST" node-b >"$PGSERVICEFILE"
start_decider
daemons+=($!)
start_matcher
daemons+=($!)
wait_until_ready "$deciding" "${daemons[0]}"
wait_until_ready "$matching" "${daemons[1]}"

# probe STATUS PATH USE ROW [CURL_OPTION]...: the answer is in $work/said.
probe() {
  local status="$1" path="$2" files=() modality got
  for modality in face voice; do files+=(--form "template=@$work/client/$3-$4-$modality.ct;type=application/vnd.heft"); done
  got="$(ask client POST "$matching/v1/$path" "${files[@]}" "${@:5}" --output "$work/said" --dump-header "$work/head" \
    --write-out '%{http_code}' 2>/dev/null || true)"
  [[ "$got" == "$status" ]] || die "$path: status $got, not $status: $(head -c 1000 "$work/said")"
}
expect() { grep -aqF -- "$1" "$work/said" || die "expected \"$1\" in: $(head -c 2000 "$work/said")"; }
encrypted=(--header 'Accept: application/vnd.heft')

probe 200 identify/main identification 5
expect '"accepted":true'
expect '"identity":"1"'
expect '"gallery_name":"main"'
expect '"generations":['
probe 200 verify/main/1 enrolment 5
expect '"accepted":true'
probe 200 verify/main/2 enrolment 5
expect '"accepted":false'
probe 200 identify/main identification 5 --form 'request={"filter":{"site":"berlin"}};type=application/json'
expect '"accepted":false'

# Encrypted: a form with one reply of each bucket. The key owner takes these four together alone.
probe 200 identify/main identification 5 "${encrypted[@]}"
grep -qi '^content-type: multipart/form-data' "$work/head" || die "$(cat "$work/head")"
[[ "$(grep -ac 'name="reply"' "$work/said")" == 4 ]] || die "not four replies"
probe 200 verify/main/1 enrolment 5 "${encrypted[@]}"
grep -qi '^content-type: application/vnd.heft' "$work/head" || die "$(cat "$work/head")"

# The caller's own errors.
probe 404 identify/other identification 5
probe 400 identify/main enrolment 5
probe 400 identify/main identification 5 --form 'request={"relinearise":false};type=application/json'
expect "a gallery in buckets does not take them"
probe 400 verify/main/1 enrolment 5 --form 'request={"filter":{"site":"berlin"}};type=application/json'
probe 400 verify/main/%FF enrolment 5

# A node hangs: an error in time, and the node ends the work alone.
PGAPPNAME=hanger on node-b -c "BEGIN" -c "LOCK TABLE heft.galleries" -c "SELECT pg_sleep(600)" >/dev/null 2>&1 &
hanger=$!
until [[ "$(on node-b -c "SELECT count(*) FROM pg_locks WHERE relation = 'heft.galleries'::regclass
  AND mode = 'AccessExclusiveLock' AND granted")" == 1 ]]; do sleep 0.05; done
probe 504 identify/main identification 5 --header 'X-Deadline-Ms: 1000'
expect "node node-b: it has not answered in time"
for ((i = 0; ; ++i)); do
  [[ "$(sql -c "SELECT count(*) FROM pg_stat_activity WHERE datname = 'node-b' AND usename = 'prober' AND state = 'active'")" == 0 ]] && break
  ((i < 100)) || die "the node's work has not ended"
  sleep 0.1
done
on node-b -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hanger'" >/dev/null
wait "$hanger" || true
probe 200 identify/main identification 5

# A node is away; its connections are lost, and it is back.
sql -c "ALTER DATABASE \"node-b\" ALLOW_CONNECTIONS false" \
  -c "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = 'node-b'" >/dev/null
probe 503 identify/main identification 5
expect "node node-b does not answer"
sql -c "ALTER DATABASE \"node-b\" ALLOW_CONNECTIONS true"
probe 200 identify/main identification 5
expect '"identity":"1"'

# A bucket is nowhere; then on the other node by the map.
on node-b -c "CREATE TABLE kept AS SELECT * FROM heft.buckets" -c "DELETE FROM heft.buckets WHERE bucket = 3" >/dev/null
probe 503 identify/main identification 5
expect "bucket 3 of"
on node-b -c "INSERT INTO heft.buckets SELECT * FROM kept WHERE bucket = 3" >/dev/null
mkdir "$work/mover"
printf '[node-%s]\nhost=%s\nuser=dba\ndbname=node-%s\n' a "$PGHOST" a b "$PGHOST" b >"$work/mover/services"
sql -c "CALL heft_router.heft_move('main', 3, 'node-a')" >/dev/null
PGSERVICEFILE="$work/mover/services" HEFT_STATE_DIR="$work/mover" "$heft_server" gallery copy --quiet --from postgres:node-b:main.003 \
  --gallery postgres:node-a:main.003 >/dev/null
sql -c "CALL heft_router.heft_moved('main', 3)" >/dev/null
probe 200 identify/main identification 5
expect '"identity":"1"'

# Another role than the tenant's sees no such gallery.
sql -c "REVOKE clinic FROM prober"
stop_daemons
start_matcher
daemons+=($!)
for ((i = 0; i < 200; ++i)); do
  as operator GET "$matching/health/live" >/dev/null 2>&1 && break
  sleep 0.1
done
probe 404 identify/main identification 5 "${encrypted[@]}"
echo "services_test: as it should be"
