#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that docs/operations.md lists, in its tables, exactly the keys that the daemons read.
#
#   tests/service/config_docs_test.sh SOURCE_DIR
set -euo pipefail
cd "$1"
# read_by: keys that the sources read by table.Number("key", ... and the like; "_table" is Table and
# Tables.
read_by() {
  grep -ohE '\.(Text|RequiredText|Choice|Path|RequiredPath|Paths|Number|Real|Flag|Seconds|Texts)\(\s*"[a-z_]+"' "$@" |
    sed 's/.*"\(.*\)"/\1/' | sort -u
}
# documented HEADING: keys of the table under it.
documented() {
  awk -v heading="### $1" '/^##/ { on = $0 == heading } on' docs/operations.md |
    sed -n 's/^| `\[*[a-z_]*\]* \([a-z_]*\)`.*/\1/p' | sort -u
}
failed=0
compare() { # HEADING SOURCE...
  local heading="$1" difference
  shift
  [[ -n "$(documented "$heading")" ]] || { echo "no table under \"$heading\""; exit 1; }
  difference="$(diff <(documented "$heading") <(read_by "$@"))" || {
    echo "docs/operations.md, \"$heading\" (<) and ${*} (>):"
    echo "$difference"
    failed=1
  }
}
compare Both service/run/common_config.cc
compare heft-decider service/decider/config.cc
if [[ -f service/matcher/config.cc ]]; then compare heft-matcher service/matcher/config.cc; fi
exit "$failed"
