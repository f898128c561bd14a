#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the console in a real Chromium with both daemons: an operator looks at every page, and
# approves and rejects. Screenshots go to SCREENSHOTS, if given.
#
#   tests/service/console_test.sh SOURCE_DIR BUILD_DIR [SCREENSHOTS]
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$1/scripts/common.sh"
# shellcheck source=scripts/service-world.sh
source "$1/scripts/service-world.sh"
build="$2" screenshots="${3:-}"
browser="$(command -v chromium || command -v chromium-browser || true)"
[[ -n "$browser" ]] || { echo "skipped: no chromium"; exit 0; }
[[ -d "$root/tests/service/node_modules" ]] || { echo "skipped: npm ci in tests/service"; exit 0; }
heft="$build/cli/heft" server="$build/cli/heft-server"
matcher="$build/service/matcher/heft-matcher" decider="$build/service/decider/heft-decider"

make_workplace

make_keys
make_certificates matcher decider registrar client operator auditor
write_configurations
sed -i 's/^name = "visitors"/&\nadmission = "manual"/' "$work/owner/decider.toml"
start_decider
daemons+=($!)
wait_until_ready "$deciding" "${daemons[0]}"
start_matcher
daemons+=($!)
wait_until_ready "$matching" "${daemons[1]}"

# Three people wait.
for row in 0 4 8; do
  forms=()
  for modality in face voice; do
    "$heft" encrypt --quiet --model "$work/matcher/model.heft" --key "$work/matcher/encryption.key" \
      --modality "$modality" --in "$work/data/$modality.npy" --row "$row" --out "$work/$modality.ct" >/dev/null
    forms+=(--form "template=@$work/$modality.ct;type=application/vnd.heft")
  done
  as registrar POST "$matching/v1/persons/person-$row/encounters" "${forms[@]}" \
    --form 'request={"galleries": ["visitors"]};type=application/json' >/dev/null
done
for modality in face voice; do
  "$heft" encrypt --quiet --for identification --model "$work/matcher/model.heft" --key "$work/matcher/encryption.key" \
    --modality "$modality" --in "$work/data/$modality.npy" --row 1 --out "$work/probe-$modality.ct" >/dev/null
done
node "$root/tests/service/console_test.mjs" --browser "$browser" --pki "$work/pki" --probes "$work" --matching "$matching" \
  --deciding "$deciding" ${screenshots:+--screenshots "$screenshots"}
