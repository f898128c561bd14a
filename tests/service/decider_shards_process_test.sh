#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# heft-decider as a process, with a gallery in buckets. Its shard list is in the configuration,
# people are activated bucket by bucket, and a search is decided only from the replies of all
# buckets.
#
#   tests/service/decider_shards_process_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$1/scripts/common.sh"
# shellcheck source=scripts/service-world.sh
source "$1/scripts/service-world.sh"
heft="$2/cli/heft" server="$2/cli/heft-server" decider="$2/service/decider/heft-decider"
buckets=3

make_workplace
make_keys
make_certificates matcher decider operator bank
write_configurations
list="$work/owner/people.shards"
at_server=(--quiet --model "$work/matcher/model.heft" --keys "$work/matcher/evaluation.keys")
people=("${at_server[@]}" --gallery "$work/matcher/store:people" --shards "$list")
server() { HEFT_STATE_DIR="$work/matcher/state" "$server" "$@"; }
server gallery create "${at_server[@]}" --gallery "$work/matcher/store:people" --buckets "$buckets" --shards "$list" >/dev/null
cat >>"$work/owner/decider.toml" <<TOML
[[gallery]]
shards = "people.shards"
name = "people"
fpir = 0.01
fmr = 0.001
[[certificate]]
subject = "bank"
roles = ["relying-party"]
TOML
# sample ROW LABEL USE: encrypts a sample; its files are in $samples.
sample() {
  local modality
  samples=()
  for modality in face voice; do
    samples+=(--in "$work/$modality.ct")
    "$heft" encrypt --quiet --model "$work/matcher/model.heft" --key "$work/matcher/encryption.key" \
      --modality "$modality" --in "$work/data/$modality.npy" --row "$1" ${2:+--label "$2"} --for "$3" \
      --out "$work/$modality.ct" >/dev/null
  done
}
expect() { grep -qF -- "$1" "$work/said" || die "expected \"$1\" in: $(cat "$work/said")"; }
# decide STATUS FILE...: sends these replies as the bank; the answer must have this status.
decide() {
  local status="$1" one got form=()
  shift
  for one in "$@"; do form+=(--form "reply=@$one;type=application/vnd.heft"); done
  got="$(ask bank POST "$deciding/v1/decisions" "${form[@]}" --output "$work/said" --dump-header "$work/head" \
    --write-out '%{http_code}' 2>/dev/null || true)"
  [[ "$got" == "$status" ]] || die "status $got, not $status: $(cat "$work/said")"
  [[ -z "${HEFT_OPENAPI_RECORDS:-}" ]] || python3 "$root/tests/service/record.py" POST "$deciding/v1/decisions" \
    "$work/head" "$work/said" >>"$HEFT_OPENAPI_RECORDS/${0##*/}.jsonl"
}
# search ROW OUT: makes the replies of all buckets.
search() {
  sample "$1" "" identification
  server identify "${people[@]}" "${samples[@]}" --out "$work/$2" >/dev/null
}

"$decider" serve --config "$work/owner/decider.toml" --check 3<"$work/owner/passphrase" >"$work/said"
expect "2 galleries"
start_decider
daemons=($!)
wait_until_ready "$deciding" "${daemons[0]}"
[[ -z "${HEFT_OPENAPI_RECORDS:-}" ]] || mkdir -p "$HEFT_OPENAPI_RECORDS"
for row in 0 4 8 12 16 20; do
  sample "$row" "person $row" enrolment
  server enrol "${people[@]}" --enrolment-keys "$work/matcher/enrolment.keys" "${samples[@]}" >/dev/null
done
for ((b = 0; b < buckets; ++b)); do
  server pending "${at_server[@]}" --gallery "$work/matcher/store:people.00$b" --out "$work/pending.ct" >/dev/null
  ask matcher POST "$deciding/v1/exchange/admissions" --header 'Content-Type: application/vnd.heft' \
    --data-binary "@$work/pending.ct" --output "$work/admission.ct"
  server apply "${at_server[@]}" --gallery "$work/matcher/store:people.00$b" --in "$work/admission.ct" >/dev/null
done

search 9 first
search 13 second
decide 409 "$work"/first/00[01].ct
expect "no reply of 2"
decide 409 "$work"/first/000.ct
expect "A part is never taken for the whole"
decide 409 "$work"/first/00[01].ct "$work/second/002.ct"
expect "answers another request"
decide 409 "$work"/first/00[012].ct "$work/first/001.ct"
expect "a second reply of bucket 1"
decide 200 "$work"/first/00[201].ct
expect '"accepted":true'
expect '"identity":"person 8"'
expect '"gallery_name":"people"'
cp "$work/said" "$work/before"
# The answer is lost with the process. The same replies get the same answer again, and replies of a
# decided search are not opened with others.
kill -KILL "${daemons[0]}"
wait "${daemons[0]}" 2>/dev/null || true
start_decider
daemons=($!)
wait_until_ready "$deciding" "${daemons[0]}"
decide 200 "$work"/first/00[021].ct
cmp -s "$work/said" "$work/before" || die "another answer to the same replies"
decide 409 "$work"/first/00[01].ct "$work/second/002.ct"
[[ "$(as operator GET "$deciding/v1/budget" | grep -o '"identifications":[0-9]*')" == '"identifications":1' ]] ||
  die "not charged once"

# A shortened list is reported, and the list before stays in use.
cp "$list" "$work/good.shards"
sed -i 's/"count": 3/"count": 2/' "$list"
kill -HUP "${daemons[0]}"
for ((i = 0; i < 100; ++i)); do grep -q 'reload' "$work/owner/audit.log" && break; sleep 0.1; done
decide 200 "$work"/second/00[012].ct
expect '"identity":"person 12"'
kill -TERM "${daemons[0]}"
wait "${daemons[0]}" || die "SIGTERM: not a clean end"
daemons=()
"$decider" serve --config "$work/owner/decider.toml" --check 3<"$work/owner/passphrase" >"$work/said" 2>&1 &&
  die "a list that is cut was taken"
expect "no shard list"
"$heft" audit --quiet "$work/owner/audit.log" >/dev/null
echo "heft-decider: a gallery in buckets is decided as a whole"
