#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the client in WebAssembly that scripts/build-browser has built: its types, then
# module_test.mjs in Node.
#
#   tests/browser/module_test.sh SOURCE_DIR BUILD_DIR PACKAGE_DIR
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$1/scripts/common.sh"
build="$2" package="$3"
here="$root/tests/browser"
heft="$build/cli/heft"
[[ -f "$package/heft.wasm" ]] || { echo "skipped: no $package/heft.wasm: scripts/build-browser"; exit 0; }
[[ -d "$here/node_modules/typescript" ]] || { echo "skipped: npm ci in tests/browser"; exit 0; }

node "$here/node_modules/typescript/bin/tsc" --project "$here/tsconfig.json"
echo "passed: the types, by tsc --strict"

umask 077
work="$(mktemp -d)"
trap 'rm -rf -- "$work"' EXIT
export HEFT_STATE_DIR="$work/state"
"$heft" synth --quiet --out "$work/data" --samples 4 --dimensions 128 64 --identities 60 --jitter 1 >/dev/null
cp "$work/data/face.npy" "$work/data/voice.npy" "$work/"
# Of two key owners.
"$heft" train --quiet --data "$work/data" --gamma 32 --no-exact --out "$work/model.heft" >/dev/null
for owner in standard other; do
  "$heft" keygen --quiet --model "$work/model.heft" --no-passphrase --out "$work/$owner" >/dev/null 2>&1
  cp "$work/model.heft" "$work/$owner/"
done
node "$here/module_test.mjs" --package "$package" --native "$build/tests/browser/native_side" --heft "$heft" \
  --golden "$root/tests/golden" --world "$work"

# Enrols and searches for the same vectors with files of the browser and with files of the tools.
# All four combinations give the same score within 0.001: the scores are rounded to that, and seven
# deviations of two scores' noise are 1.6e-4.
server="$build/cli/heft-server" world="$work/standard"
tool_files() { # NAME ROW USE: NAME-face.ct and NAME-voice.ct, by heft encrypt
  local modality
  for modality in face voice; do
    "$heft" encrypt --quiet --model "$world/model.heft" --key "$world/encryption.key" --trust "$world/trust.heft" --modality "$modality" \
      --in "$work/$modality.npy" --row "$2" --label ann --for "$3" --out "$work/$1-$modality.ct" >/dev/null
  done
}
tool_files tool-enrol 0 enrolment
tool_files tool-probe 1 identification
node "$here/make_files.mjs" "$package" "$world" "$work" "$work/browser-enrol" 0 enrolment
node "$here/make_files.mjs" "$package" "$world" "$work" "$work/browser-probe" 1 identification
"$heft" budget --quiet --model "$world/model.heft" --secret-key "$world/secret.key" --set scores=16 >/dev/null
scores=()
for enrolled in tool browser; do
  gallery=(--model "$world/model.heft" --keys "$world/evaluation.keys" --gallery "$work/gallery-$enrolled")
  "$server" enrol --quiet "${gallery[@]}" --in "$work/$enrolled-enrol-face.ct" --in "$work/$enrolled-enrol-voice.ct" >/dev/null
  "$server" pending --quiet "${gallery[@]}" --out "$work/pending.ct" >/dev/null
  "$heft" trust add --trust "$world/trust.heft" --role server --key "$work/gallery-$enrolled/server.pub" --name "$enrolled" >/dev/null
  "$heft" answer --quiet --model "$world/model.heft" --secret-key "$world/secret.key" --in "$work/pending.ct" --out "$work/admission.heft" >/dev/null
  "$server" apply --quiet "${gallery[@]}" --in "$work/admission.heft" >/dev/null
  gallery_id="$("$server" inspect --json "$work/gallery-$enrolled" | sed -n 's/^ *"gallery_id": "\([0-9a-f]*\)",*$/\1/p')"
  for probe in tool browser; do
    "$server" identify --quiet "${gallery[@]}" --in "$work/$probe-probe-face.ct" --in "$work/$probe-probe-voice.ct" --out "$work/scores.ct" >/dev/null
    scores+=("$("$heft" decrypt --json --model "$world/model.heft" --secret-key "$world/secret.key" --in "$work/scores.ct" --gallery-id "$gallery_id" --threshold -1 --scores --top 1 |
      node -p 'JSON.parse(require("fs").readFileSync(0)).candidates[0].score')")
  done
done
printf '%s\n' "${scores[@]}" | awk '{ if (NR == 1 || $1 < least) least = $1; if (NR == 1 || $1 > most) most = $1 }
  END { exit !(NR == 4 && least != 0 && most - least < 0.0021) }' || die "scores by the tools and by the browser: ${scores[*]}"
echo "passed: scores by the tools and by the browser, each against each: ${scores[*]}"

# An app imports the package by its name.
mkdir -p "$work/app/node_modules"
ln -s "$package" "$work/app/node_modules/heft-client"
echo "import {Heft} from 'heft-client'; if (typeof Heft.client !== 'function') process.exit(1);" >"$work/app/app.mjs"
node "$work/app/app.mjs"
echo "passed: an app imports it by its name"
