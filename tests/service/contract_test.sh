#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a check of the services' contract in Node: contract.mjs, of recorded answers, or examples.mjs.
# It fails if Node or the packages are missing, since a check that did not run has not passed. Run by CTest.
#
#   tests/service/contract_test.sh SCRIPT HEFT_YAML [ARGUMENT]...
set -euo pipefail
folder="$(cd "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)"
if ! command -v node >/dev/null || [[ ! -d "$folder/node_modules/@redocly/openapi-core" ]]; then
  echo "tests/service: Node or its packages are missing: run scripts/install-dependencies" >&2
  exit 1
fi
exec node "$folder/$1" "${@:2}"
