#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Both daemons run. Then all folders of the key owner (keys, state of the journal, state of the service) are
# restored from an earlier copy together: heft-matcher shows the restored heft-decider the newest end of its
# journal, and heft-decider decides and approves nothing. With the newest folders it serves again.
#
#   tests/service/decider_put_back_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$1/scripts/common.sh"
# shellcheck source=scripts/service-world.sh
source "$1/scripts/service-world.sh"
heft="$2/cli/heft" server="$2/cli/heft-server"
matcher="$2/service/matcher/heft-matcher" decider="$2/service/decider/heft-decider"

make_workplace
# shellcheck disable=SC2119  # the model of synthetic people
make_keys
make_certificates matcher decider registrar client operator
# shellcheck disable=SC2119  # the usual threshold
write_configurations

start_owner() {
  start_decider
  decider_process=$!
  daemons=("$decider_process" ${matcher_process:+"$matcher_process"})
  wait_until_ready "$deciding" "$decider_process"
}
stop_owner() {
  kill -TERM "$decider_process"
  wait "$decider_process" || die "SIGTERM: not a clean end of heft-decider"
  daemons=("$matcher_process")
}
start_owner
start_matcher
matcher_process=$!
daemons+=("$matcher_process")
wait_until_ready "$matching" "$matcher_process"

# encrypt ROW USE: $forms becomes what curl needs to send that sample.
encrypt() {
  local modality
  forms=()
  for modality in face voice; do
    "$heft" encrypt --quiet --model "$work/matcher/model.heft" --key "$work/matcher/encryption.key" \
      --modality "$modality" --in "$work/data/$modality.npy" --row "$1" --for "$2" --out "$work/$modality.ct" >/dev/null
    forms+=(--form "template=@$work/$modality.ct;type=application/vnd.heft")
  done
}
# enrol ROW NAME WAIT
enrol() {
  encrypt "$1" enrolment
  as registrar POST "$matching/v1/persons/$2/encounters?wait=$3" "${forms[@]}" \
    --form 'request={"galleries": ["visitors"]};type=application/json' >"$work/said" || die "not enrolled: $(cat "$work/said")"
}
# identify STATUS TEXT: a search for ann, and what its answer must contain.
identify() {
  local status i
  for ((i = 0; i < 60; ++i)); do
    encrypt 1 identification
    status="$(ask client POST "$matching/v1/identify/visitors" "${forms[@]}" --header 'Accept: application/json' \
      --output "$work/said" --write-out '%{http_code}' 2>/dev/null || true)"
    [[ "$status" == 503 ]] || break # the matcher waits before it calls a restarted decider
    sleep 0.5
  done
  [[ "$status" == "$1" ]] || die "status $status, not $1: $(cat "$work/said")"
  grep -qF -- "$2" "$work/said" || die "expected \"$2\" in: $(cat "$work/said")"
}
# fact FIELD: a number of the gallery's facts.
fact() { as operator GET "$matching/v1/galleries/visitors/stats" | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"; }
entries() {
  "$heft" budget --quiet --json --model "$work/owner/model.heft" --secret-key "$work/owner/keys/secret.key" \
    --passphrase-file "$work/owner/passphrase" | sed -n 's/^ *"entries": \([0-9]*\).*/\1/p'
}
copy_owner() { # FROM TO
  local folder
  for folder in keys anchors state; do
    rm -rf "${2:?}/$folder"
    cp -a "$1/$folder" "$2/$folder"
  done
}

enrol 0 ann 20
identify 200 '"identity":"ann"'
stop_owner
mkdir "$work/old" "$work/newest"
copy_owner "$work/owner" "$work/old"
start_owner
for _ in 1 2 3; do identify 200 '"identity":"ann"'; done
stop_owner
newest="$(entries)"
for ((i = 0; i < 100; ++i)); do
  (("$(fact owner_journal_entry)" == newest)) && break
  sleep 0.1
done
((i < 100)) || die "the matcher has not kept the journal's newest end, entry $newest"

copy_owner "$work/owner" "$work/newest"
copy_owner "$work/old" "$work/owner"
old="$(entries)"
((old < newest)) || die "the copy is no older: $old of $newest entries"
start_owner
identify 409 "put back to an older state"
enrol 4 bob 2
(("$(fact templates)" == 1 && "$(fact pending)" == 1)) || die "a key owner that was put back approves people"
stop_owner
(("$(entries)" == old)) || die "something was charged"

copy_owner "$work/newest" "$work/owner"
start_owner
identify 200 '"identity":"ann"'
for ((i = 0; i < 100; ++i)); do
  (("$(fact templates)" == 2)) && break
  sleep 0.1
done
((i < 100)) || die "bob is not approved by the newest key owner"
echo "heft-decider: put back, refused, and serving again with the newest journal"
