#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs one suite against SEAL in Node. It fails if Node or node-seal is missing, since a suite that
# did not run has not passed. Run by CTest.
#
#   tests/seal/run.sh SUITE SEAL_ENGINE HEFT HEFT_SERVER HEFT_SEAL
set -euo pipefail
folder="$(cd "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)"
if ! command -v node >/dev/null || [[ ! -d "$folder/node_modules/node-seal" ]]; then
  echo "tests/seal: Node or node-seal is missing: run scripts/install-dependencies" >&2
  exit 1
fi
HEFT_STATE_DIR="$(mktemp -d)" # not among what a developer's own keys have
trap 'rm -rf -- "$HEFT_STATE_DIR"' EXIT
export HEFT_STATE_DIR SEAL_ENGINE="$2" HEFT="$3" HEFT_SERVER="$4" HEFT_SEAL="$5"
node "$folder/$1"
