#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Learns a small model of one modality and runs the C example with it. Run by CTest.
#
#   tests/c/example_test.sh HEFT ROLES_IN_C
set -euo pipefail
heft="$1" example="$2"
work="$(mktemp -d)"
trap 'rm -rf -- "$work"' EXIT
cd "$work"
export HEFT_STATE_DIR="$work/state"
"$heft" synth --identities 30 --samples 6 --dimensions 64 --jitter 1 --out data --quiet
"$heft" train --data data --gamma 16 --epochs 5 --out model.heft --quiet
"$example" model.heft
