#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs scripts/demo on synthetic people. The first search accepts, every genuine claim and no
# impostor's is accepted, and the report exists. The programs are those on $PATH.
set -euo pipefail
root="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)"
work="$(mktemp -d)"
trap 'rm -rf -- "$work"' EXIT

"$root/scripts/demo" --synthetic --installed --out "$work/report" >"$work/out" 2>"$work/err" || {
  cat "$work/err" >&2
  exit 1
}
fail() {
  cat "$work/err" >&2
  echo "demo_test: $*" >&2
  exit 1
}
[[ "$(tail -n 1 "$work/out")" == "$work/report/report.html" ]] || fail "the last line is not the report's path"
[[ -s "$work/report/report.html" ]] || fail "no report"
# heft decrypt prints the answer to the first search.
grep -q '^accept ' "$work/err" || fail "the first search was not accepted"
grep -q "genuine claims accepted: 10 of 10; impostors' accepted: 0 of 10" "$work/err" || fail "claims"
