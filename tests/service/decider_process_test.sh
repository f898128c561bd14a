#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# heft-decider as a process: its --check, a reload of its configuration, a wrong one that changes
# nothing, and a kill that loses nothing. Other processes of this user cannot read its memory.
#
#   tests/service/decider_process_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$1/scripts/common.sh"
# shellcheck source=scripts/service-world.sh
source "$1/scripts/service-world.sh"
heft="$2/cli/heft" server="$2/cli/heft-server" decider="$2/service/decider/heft-decider"

make_workplace
make_keys
make_certificates matcher decider operator
write_configurations
config="$work/owner/decider.toml"

# expect TEXT: fails unless the output of the last command contains it.
expect() { grep -qF -- "$1" "$work/said" || die "expected \"$1\" in: $(cat "$work/said")"; }
# check CODE: fails unless heft-decider --check exits with this code.
check() {
  local code=0
  "$decider" serve --config "$config" --check 3<"$work/owner/passphrase" >"$work/said" 2>&1 || code=$?
  ((code == $1)) || die "--check ended with $code, not $1: $(cat "$work/said")"
}
check 0
expect "1 galleries"
sed -i 's/^fpir/fpirr/' "$config"
check 3
expect "$config:"
expect "gallery.fpir?"
sed -i 's/^fpirr/fpir/' "$config"
cp "$work/owner/passphrase" "$work/good"
echo "open sesame" >"$work/owner/passphrase"
check 3
cp "$work/good" "$work/owner/passphrase"
chmod 644 "$work/owner/decision.key"
check 3
expect "decision.key"
chmod 600 "$work/owner/decision.key"
"$decider" serve >"$work/said" 2>&1 && die "no configuration, and no complaint"
expect "--config"

# A gallery without a rule, then one whose rule is that a person decides.
rule="$(sed -n '/^\[\[gallery\]\]/,$p' "$config")"
sed -i '/^\[\[gallery\]\]/,$d' "$config"
start_decider
daemons=($!)
wait_until_ready "$deciding" "${daemons[0]}"
for modality in face voice; do
  "$heft" encrypt --quiet --model "$work/matcher/model.heft" --key "$work/matcher/encryption.key" \
    --modality "$modality" --in "$work/data/$modality.npy" --row 0 --label ann --out "$work/$modality.ct" >/dev/null
done
at_server=(--quiet --model "$work/matcher/model.heft" --keys "$work/matcher/evaluation.keys"
  --gallery "$work/matcher/store:visitors")
HEFT_STATE_DIR="$work/matcher/state" "$server" enrol "${at_server[@]}" \
  --enrolment-keys "$work/matcher/enrolment.keys" --in "$work/face.ct" "$work/voice.ct" >/dev/null
HEFT_STATE_DIR="$work/matcher/state" "$server" pending "${at_server[@]}" --out "$work/pending.ct" >/dev/null
# ask_to_approve STATUS
ask_to_approve() {
  local status
  status="$(ask matcher POST "$deciding/v1/exchange/admissions" --header 'Content-Type: application/vnd.heft' \
    --data-binary "@$work/pending.ct" --output "$work/said" --write-out '%{http_code}' 2>/dev/null || true)"
  [[ "$status" == "$1" ]] || die "status $status, not $1: $(cat "$work/said")"
}
ask_to_approve 409
expect "[[gallery]]"
printf '%s\nadmission = "manual"\n' "$rule" >>"$config"
# reload WORD: reloads, and waits until the audit log has one more line about it.
reload() {
  local i before
  before="$(grep -c '"event":"reload"' "$work/owner/audit.log" || true)"
  kill -HUP "${daemons[0]}"
  for ((i = 0; i < 100; ++i)); do
    (("$(grep -c '"event":"reload"' "$work/owner/audit.log" || true)" > before)) && return
    sleep 0.1
  done
  return 1
}
reload || die "not reloaded"
ask_to_approve 202
sed -i 's/^fmr = .*/fmr = "often"/' "$config"
! reload || die "a wrong configuration was taken"
ask_to_approve 202

# Other processes of this user cannot read its memory; only root could dump it.
if [[ "$(id -u)" != 0 ]]; then
  ! cat "/proc/${daemons[0]}/environ" >/dev/null 2>&1 || die "its environment can be read"
fi
grep -q '^0 ' < <(awk '/Max core file size/ {print $5, $6}' "/proc/${daemons[0]}/limits") || die "core dumps are on"

# Kills it; after a restart it still has the pending templates.
sed -i 's/^fmr = .*/fmr = 0.001/' "$config"
kill -KILL "${daemons[0]}"
wait "${daemons[0]}" 2>/dev/null || true
start_decider
daemons=($!)
wait_until_ready "$deciding" "${daemons[0]}"
as operator GET "$deciding/v1/admissions" >"$work/said"
expect '"identity":"ann"'
kill -TERM "${daemons[0]}"
wait "${daemons[0]}" || die "SIGTERM: not a clean end"
daemons=()
"$heft" audit --quiet "$work/owner/audit.log" >/dev/null
echo "heft-decider: checked, reloaded, killed and stopped"
