#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/try-containers runs this on a system with the packages of key owner and clients.
#
#   containers.sh prepare UID:GID UID:GID   makes, in /world, the volumes, configurations and secrets that the
#                                           matcher's and the decider's container mount
#   containers.sh enrol                     enrols four people at the running daemons
#   containers.sh identify                  identifies one of them by another sample
set -euo pipefail
source="$(dirname -- "${BASH_SOURCE[0]}")/../.."
# shellcheck source=scripts/common.sh
source "$source/scripts/common.sh"
# shellcheck source=scripts/service-world.sh
source "$source/scripts/service-world.sh"

readonly people=4 work=/world
matching=https://localhost:8443
umask 077

# adapt FOLDER NAME PORT: the configuration of scripts/demo --service, as it is in a container.
adapt() {
  sed -E "s#$work/pki#/etc/heft#; s#$work/$1#/var/lib/heft-$2#; s#127.0.0.1:[0-9]+#0.0.0.0:$3#; s#localhost:[0-9]+#localhost:8444#
    s#\"fd:3\"#\"credential\"#; s#^(model|secret_key|trust|key|evaluation|enrolment|encryption|folder) = \"#&/var/lib/heft-$2/#" \
    "$work/$1/$2.toml"
  printf '[metrics]\naddress = "127.0.0.1:%s"\n' $((1000 + $3))
}

prepare() { # MATCHER_USER DECIDER_USER
  local volumes="$work/volumes/var/lib" name
  heft=heft server=heft-server # for make_keys
  make_keys
  make_certificates matcher decider registrar client
  write_configurations
  mkdir -p "$volumes/heft-matcher" "$work"/{config,secrets}/heft-{matcher,decider}
  cp -r "$work/matcher"/{model.heft,encryption.key,evaluation.keys,enrolment.keys,trust.heft,store} "$volumes/heft-matcher/"
  mkdir "$volumes/heft-decider"
  cp -r "$work/owner"/{model.heft,keys,decision.key} "$volumes/heft-decider/"
  mv "$work/owner/anchors" "$volumes/heft-decider-anchor"
  mv "$work/owner/passphrase" "$work/secrets/heft-decider/passphrase"
  adapt matcher matcher 8443 >"$work/config/heft-matcher/matcher.toml"
  adapt owner decider 8444 >"$work/config/heft-decider/decider.toml"
  for name in matcher decider; do
    cp "$work/pki"/{"$name.pem","$name.key",ca.pem} "$work/config/heft-$name/"
  done
  rm -rf -- "$work/owner"
  chmod 400 "$work/secrets/heft-decider/passphrase"
  chown -R "$1" "$volumes/heft-matcher" "$work"/{config,secrets}/heft-matcher
  chown -R "$2" "$volumes"/heft-decider{,-anchor} "$work"/{config,secrets}/heft-decider
}

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

enrol() {
  local i
  as client GET "$matching/v1/encryption-key" >"$work/encryption.key"
  for ((i = 0; i < people; ++i)); do
    encrypt $((4 * i)) enrolment
    as registrar POST "$matching/v1/persons/person-$i/encounters?wait=20" "${forms[@]}" \
      --form 'request={"galleries": ["visitors"]};type=application/json' >"$work/answer" ||
      die "enrolment refused: $(cat "$work/answer")"
    grep -q '"status":"active"' "$work/answer" || die "not activated: $(cat "$work/answer")"
  done
  say "   $people people enrolled"
}

identify() {
  encrypt 5 identification
  as client POST "$matching/v1/identify/visitors" "${forms[@]}" --header 'Accept: application/json' >"$work/answer" ||
    die "identification refused: $(cat "$work/answer")"
  grep -q '"identity":"person-1"' "$work/answer" || die "that is not person-1: $(cat "$work/answer")"
  say "   a sample identified as person-1, in a signed decision"
}

"$@"
