#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# systemd accepts the units without a complaint, and they are as restricted as documented.
#
#   tests/service/units_test.sh SOURCE_DIR
set -euo pipefail
command -v systemd-analyze >/dev/null || { echo "skipped: no systemd-analyze"; exit 0; }
units="$1/packaging/systemd"
work="$(mktemp -d)"
trap 'rm -rf -- "$work"' EXIT
for unit in "$units"/heft-*.{service,socket}; do
  # verify needs programs that exist.
  sed 's|^ExecStart=/usr/bin/heft-[a-z]*|ExecStart=/bin/true|' "$unit" >"$work/$(basename "$unit")"
done
complaints="$(systemd-analyze verify --man=no "$work"/heft-* 2>&1)" || { echo "$complaints"; exit 1; }
# Complaints about other units of this machine are ignored.
complaints="$(grep -F heft <<<"$complaints" || true)"
[[ -z "$complaints" ]] || { echo "$complaints"; exit 1; }
# Exposure: 0 is best, 10 is worst; systemd calls up to 2.0 good.
for service in decider:1.3 matcher:2.0; do
  systemd-analyze security --offline=true --threshold="$(tr -d . <<<"${service#*:}")" \
    "$work/heft-${service%:*}.service" >"$work/report" || { cat "$work/report"; exit 1; }
  tail -n 1 "$work/report"
done
