#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a program in an empty folder of its own, which is removed afterwards. It is for tests of
# programs that write into the current folder.
#
#   tests/in_temporary_folder.sh PROGRAM [ARGUMENT...]
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf -- "$folder"' EXIT
export HEFT_STATE_DIR="$folder/state"  # not among what a developer's own keys have
cd "$folder"
"$@"
