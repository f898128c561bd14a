#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the recorded answers of the services' tests against their contract, in Node. It fails if
# Node or the packages are missing, since a check that did not run has not passed. Run by CTest.
#
#   tests/service/contract_test.sh HEFT_YAML RECORDS_FOLDER
set -euo pipefail
folder="$(cd "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)"
if ! command -v node >/dev/null || [[ ! -d "$folder/node_modules/@redocly/openapi-core" ]]; then
  echo "tests/service: Node or its packages are missing: run scripts/install-dependencies" >&2
  exit 1
fi
exec node "$folder/contract.mjs" "$1" "$2"
