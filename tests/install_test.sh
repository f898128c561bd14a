#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build into a temporary folder and builds and runs a program elsewhere that finds it
# with find_package(heft). Run by CTest.
#
#   tests/install_test.sh CMAKE BUILD_DIR SOURCE_DIR GENERATOR CXX_COMPILER CXX_FLAGS
#
# CXX_FLAGS: what the build was made with; a sanitizer must be in the program too.
set -euo pipefail
cmake="$1" build="$2" source="$3" generator="$4" compiler="$5" flags="$6"
work="$(mktemp -d)"
trap 'rm -rf -- "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/prefix" >"$work/install.log"
cp -r "$source/tests/install" "$work/source"  # nothing of the source tree is near
"$cmake" -S "$work/source" -B "$work/build" -G "$generator" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="$flags" \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_PREFIX_PATH="$work/prefix"
"$cmake" --build "$work/build"
for program in server_side owner_side learner; do "$work/build/$program"; done

# What a server links must not know a secret key, seen from outside too.
if nm -C "$work/build/server_side" | grep -E 'SecretKey|ckks::Decrypt'; then
  echo "server_side holds secret-key code" >&2
  exit 1
fi
"$work/prefix/bin/heft" --version
"$work/prefix/bin/heft-server" --version
