#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/try-units runs this on a system where systemd has booted and the packages are installed.
# It follows docs/operations.md, "Install", for both machines in one. Then it searches while both
# services are reloaded, restarted and killed. Exit code 0 only if each search was answered.
set -euo pipefail
source="$(dirname -- "${BASH_SOURCE[0]}")/../.."
# shellcheck source=scripts/common.sh
source "$source/scripts/common.sh"
# shellcheck source=scripts/service-world.sh
source "$source/scripts/service-world.sh"

readonly people=12 seconds=36
find_programs true
umask 077
work="$(mktemp -d)"
trap 'rm -rf -- "$work"' EXIT

# The files and configurations of scripts/demo --service, moved to the folders that the units use.
make_keys --identities 60 --jitter 0.3 0.3
make_certificates matcher decider registrar client operator
write_configurations 0.01
deciding=https://localhost:8444 matching=https://localhost:8443
decider_home=/var/lib/heft-decider matcher_home=/var/lib/heft-matcher
install -m 600 "$work/owner/passphrase" /etc/heft/decider.passphrase
cp -r "$work/owner"/{model.heft,keys,decision.key} "$decider_home/"
cp -r "$work/owner/anchors/." /var/lib/heft-decider-anchor/
cp -r "$work/matcher"/{model.heft,encryption.key,evaluation.keys,enrolment.keys,trust.heft,store} "$matcher_home/"
for home in "$decider_home" "$matcher_home"; do
  mkdir "$home/tls"
  name="${home##*heft-}"
  cp "$work/pki"/{"$name.pem","$name.key",ca.pem} "$home/tls/"
done
chown -R heft-decider: "$decider_home" /var/lib/heft-decider-anchor
chown -R heft-matcher: "$matcher_home"
# A system (a container, say) may forbid locking memory to all processes. The service reports that,
# and is then configured without.
lock=true
[[ "$(systemd-run --quiet --pipe --wait -p User=heft-decider -p LimitMEMLOCK=infinity sh -c 'ulimit -l')" == unlimited ]] ||
  lock=false
say "   memory is locked: $lock"
sed -E "s#$work/pki#$decider_home/tls#; s#$work/owner#$decider_home#; s#\"fd:3\"#\"credential\"#
  s#^lock_memory = .*#lock_memory = $lock#; s#^(model|secret_key|trust|key|folder) = \"#&$decider_home/#" \
  "$work/owner/decider.toml" >/etc/heft/decider.toml
sed -E "s#$work/pki#$matcher_home/tls#; s#$work/matcher#$matcher_home#; s#localhost:[0-9]+#localhost:8444#
  s#^(model|evaluation|enrolment|encryption|trust|folder) = \"#&$matcher_home/#" \
  "$work/matcher/matcher.toml" >/etc/heft/matcher.toml
chown root:heft-decider /etc/heft/decider.toml
chown root:heft-matcher /etc/heft/matcher.toml
chmod 640 /etc/heft/*.toml
rm -rf -- "$work/owner"

systemd-run --quiet --pipe --wait -p User=heft-decider -p LoadCredential=passphrase:/etc/heft/decider.passphrase \
  -p LimitMEMLOCK=infinity -E HEFT_STATE_DIR=/var/lib/heft-decider-anchor \
  heft-decider serve --config /etc/heft/decider.toml --check >&2
runuser -u heft-matcher -- env HEFT_STATE_DIR="$matcher_home/state" \
  heft-matcher serve --config /etc/heft/matcher.toml --check >&2
systemctl --quiet enable --now heft-decider.socket heft-decider.service heft-matcher.socket heft-matcher.service

as client GET "$matching/v1/encryption-key" >"$work/encryption.key"
forms=()
encrypt() { # ROW USE: $forms becomes what curl needs to send that sample
  local modality file
  forms=()
  for modality in "$work"/data/*.npy; do
    file="$work/$(basename "$modality" .npy).ct"
    heft encrypt --quiet --model "$work/matcher/model.heft" --key "$work/encryption.key" \
      --trust "$work/matcher/trust.heft" --modality "$(basename "$modality" .npy)" --in "$modality" \
      --row "$1" --for "$2" --out "$file" >/dev/null
    forms+=(--form "template=@$file;type=application/vnd.heft")
  done
}
for ((i = 0; i < people; ++i)); do
  encrypt $((4 * i)) enrolment
  as registrar POST "$matching/v1/persons/person-$i/encounters?wait=20" "${forms[@]}" \
    --form 'request={"galleries": ["visitors"]};type=application/json' >"$work/answer" ||
    die "enrolment refused: $(cat "$work/answer")"
done

# Searches for all people in the data, one after the other, each with another sample.
touch "$work/asking"
ask_on() {
  local row=1 decided=0 exhausted=0 wrong=0 person
  while [[ -e "$work/asking" ]]; do
    encrypt "$row" identification
    person=$((row / 4))
    if as client POST "$matching/v1/identify/visitors" "${forms[@]}" --header 'Accept: application/json' \
      >"$work/answer" 2>"$work/failure"; then
      decided=$((decided + 1))
      # A sample may be rejected by chance; an accepted one must get the right name.
      ! grep -q '"accepted":true' "$work/answer" || grep -q "\"identity\":\"person-$person\"" "$work/answer" ||
        { wrong=$((wrong + 1)) && cat "$work/answer" >&2; }
    elif grep -q 'query budget is spent' "$work/answer"; then
      exhausted=$((exhausted + 1)) # of a small gallery, soon
    else
      wrong=$((wrong + 1))
      say "   row $row: $(cat "$work/answer" "$work/failure")"
    fi
    row=$(((row + 5) % 240))
    ((row % 4 != 0)) || row=$((row + 1)) # that one is enrolled
  done
  say "   $decided searches decided, $exhausted over the budget, $wrong failed or wrong"
  ((wrong == 0 && decided >= 10))
}
ask_on &
asking=$!
pause=$((seconds / 6))
sleep "$pause"
systemctl reload heft-matcher heft-decider
sleep "$pause"
systemctl restart heft-matcher
sleep "$pause"
systemctl restart heft-decider
sleep "$pause"
systemctl kill --signal=KILL heft-matcher
sleep "$pause"
systemctl kill --signal=KILL heft-decider
sleep "$pause"
rm "$work/asking"
wait "$asking" || die "not each search was answered"

for name in heft-matcher heft-decider; do
  [[ "$(systemctl show --property ActiveState,NRestarts --value "$name" | xargs)" == "1 active" ||
    "$(systemctl show --property ActiveState,NRestarts --value "$name" | xargs)" == "active 1" ]] ||
    die "$name did not come back once: $(systemctl show --property ActiveState,NRestarts "$name")"
  heft audit "/var/lib/$name/audit.log" >/dev/null
  systemd-analyze security --no-pager "$name.service" | sed -n "s/^.*Overall/   $name: overall/p" >&2
done
systemctl stop heft-matcher.socket heft-matcher heft-decider.socket heft-decider
[[ -z "$(journalctl --no-pager --boot --priority err --unit heft-matcher --unit heft-decider --quiet)" ]] ||
  { journalctl --no-pager --boot --priority err >&2; die "an error is in the journal"; }
