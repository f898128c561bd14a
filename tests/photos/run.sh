#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs one suite of the examples of photos and recordings in Node. Run by CTest.
#
#   tests/photos/run.sh SUITE HEFT
set -euo pipefail
folder="$(cd "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)"
if ! command -v node >/dev/null || [[ ! -d "$folder/../../examples/node_modules/sharp" ]]; then
  echo "skipped: no packages of examples/package.json: scripts/install-dependencies --photos"
  exit 0
fi
HEFT_STATE_DIR="$(mktemp -d)" # not among a developer's own keys
trap 'rm -rf -- "$HEFT_STATE_DIR"' EXIT
export HEFT_STATE_DIR HEFT="$2"
node "$folder/$1"
