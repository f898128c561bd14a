#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The units are ones that systemd takes without a word, and as closed as they are said to be.
#
#   tests/service/units_test.sh SOURCE_DIR
set -euo pipefail
command -v systemd-analyze >/dev/null || { echo "skipped: no systemd-analyze"; exit 0; }
units="$1/packaging/systemd"
work="$(mktemp -d)"
trap 'rm -rf -- "$work"' EXIT
for unit in "$units"/heft-*.{service,socket}; do
  # Programs that are there: verify asks.
  sed 's|^ExecStart=/usr/bin/heft-[a-z]*|ExecStart=/bin/true|' "$unit" >"$work/$(basename "$unit")"
done
complaints="$(systemd-analyze verify --man=no "$work"/heft-* 2>&1)" || { echo "$complaints"; exit 1; }
# Of other units of this machine nothing is asked.
complaints="$(grep -F heft <<<"$complaints" || true)"
[[ -z "$complaints" ]] || { echo "$complaints"; exit 1; }
# Exposure: 0 is best, 10 worst; systemd's own calls up to 2.0 good.
for service in decider:1.3 matcher:2.0; do
  systemd-analyze security --offline=true --threshold="$(tr -d . <<<"${service#*:}")" \
    "$work/heft-${service%:*}.service" >"$work/report" || { cat "$work/report"; exit 1; }
  tail -n 1 "$work/report"
done
