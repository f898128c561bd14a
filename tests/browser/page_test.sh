#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the package and the demonstration page in a real Chromium, with both daemons. People are
# enrolled and identified with files that the browser encrypts. Screenshots go to SCREENSHOTS, if
# given.
#
#   tests/browser/page_test.sh SOURCE_DIR BUILD_DIR PACKAGE_DIR [SCREENSHOTS]
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$1/scripts/common.sh"
# shellcheck source=scripts/service-world.sh
source "$1/scripts/service-world.sh"
build="$2" package="$3" screenshots="${4:-}"
here="$root/tests/browser"
browser="$(command -v chromium || command -v chromium-browser || true)"
[[ -f "$package/heft.wasm" ]] || { echo "skipped: no $package/heft.wasm: scripts/build-browser"; exit 0; }
[[ -n "$browser" ]] || { echo "skipped: no chromium"; exit 0; }
[[ -d "$here/node_modules/playwright-core" ]] || { echo "skipped: npm ci in tests/browser"; exit 0; }
heft="$build/cli/heft" server="$build/cli/heft-server"
matcher="$build/service/matcher/heft-matcher" decider="$build/service/decider/heft-decider"

make_workplace

make_keys
make_certificates matcher decider registrar client operator
write_configurations
start_decider
daemons+=($!)
wait_until_ready "$deciding" "${daemons[0]}"
start_matcher
daemons+=($!)
wait_until_ready "$matching" "${daemons[1]}"
start_demo_page "$package"
daemons+=($!)
wait_for_demo_page

# A key without a passphrase, to decrypt the browser's files.
HEFT_STATE_DIR="$work/other-state" "$heft" keygen --quiet --model "$work/matcher/model.heft" --no-passphrase --out "$work/other" >/dev/null 2>&1
node "$here/page_test.mjs" --browser "$browser" --page "$page" --documentation "$root" --data "$work/data" --model "$work/matcher/model.heft" \
  --keys "$work/other" --native "$build/tests/browser/native_side" --work "$work" ${screenshots:+--screenshots "$screenshots"}
