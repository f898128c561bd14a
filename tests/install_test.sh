#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build into a temporary folder. Then builds and runs a program elsewhere that finds it
# with find_package(heft). Run by CTest.
#
#   tests/install_test.sh CMAKE BUILD_DIR SOURCE_DIR GENERATOR CXX_COMPILER CXX_FLAGS
#
# CXX_FLAGS: the flags of the build; the program needs the same sanitizer.
set -euo pipefail
cmake="$1" build="$2" source="$3" generator="$4" compiler="$5" flags="$6"
work="$(mktemp -d)"
trap 'rm -rf -- "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/prefix" >"$work/install.log"
cp -r "$source/tests/install" "$work/source"  # nothing of the source tree is near
"$cmake" -S "$work/source" -B "$work/build" -G "$generator" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_C_FLAGS="$flags" \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_PREFIX_PATH="$work/prefix"
"$cmake" --build "$work/build"
for program in server_side server_side_static owner_side owner_side_static learner; do
  "$work/build/$program"
done

# The same with pkg-config alone.
libraries="$(dirname "$(find "$work/prefix" -name libheft.so)")"
PKG_CONFIG_PATH="$libraries/pkgconfig" pkg-config --cflags --libs heft_server >"$work/flags"
# shellcheck disable=SC2046,SC2086  # flags are words
"$compiler" $flags "$source/tests/install/server_side.cc" $(cat "$work/flags") -o "$work/by_pkg_config"
LD_LIBRARY_PATH="$libraries" "$work/by_pkg_config"

# The same in C, if the C interface was built (HEFT_BUILD_C).
if [[ -f "$libraries/pkgconfig/heft_c.pc" ]]; then
  "$work/build/c_server_side"
  "$work/build/c_owner_side"
  PKG_CONFIG_PATH="$libraries/pkgconfig" pkg-config --cflags --libs heft_c_server >"$work/flags"
  # shellcheck disable=SC2046,SC2086
  "$compiler" $flags -x c -std=c11 -Wall -Wextra -pedantic -Werror "$source/tests/install/c_side.c" \
    $(cat "$work/flags") -Wl,-rpath-link,"$libraries" -o "$work/by_pkg_config"
  LD_LIBRARY_PATH="$libraries" "$work/by_pkg_config"
  # A C program that links the server's library has no function that could decrypt.
  # shellcheck disable=SC2046,SC2086
  if "$compiler" $flags -DOWNER -x c -std=c11 "$source/tests/install/c_side.c" $(cat "$work/flags") \
    -Wl,-rpath-link,"$libraries" -o "$work/key_owner" 2>"$work/refused"; then
    echo "a key owner's program links heft_c_server" >&2
    exit 1
  fi
  grep 'heft_key_owner_generate' "$work/refused" >/dev/null
fi

# The server's library must not know a secret key, which is checked from outside too.
for file in "$work/build/server_side_static" "$libraries/libheft_server.so" "$libraries/libheft_server.a" \
  "$libraries/libheft_c_server.so"; do
  if nm -C "$file" 2>/dev/null | grep -E 'SecretKey|ckks::Decrypt'; then
    echo "$file holds secret-key code" >&2
    exit 1
  fi
done

# A shared library shows the functions that its headers declare, and no internal ones.
for library in libheft.so libheft_server.so; do
  if nm -DC --defined-only "$libraries/$library" | grep -E 'heft::(ckks|ring|seal|internal|experiment|paper|bench)::'; then
    echo "$library shows internal symbols" >&2
    exit 1
  fi
  # Not grep -q: it would end before nm, and pipefail would take that for a failure.
  nm -DC --defined-only "$libraries/$library" | grep 'heft::Server::Identify' >/dev/null ||
    { echo "$library shows no heft::Server::Identify" >&2; exit 1; }
done

# Installed headers include each other, Abseil's and the standard library's, and nothing internal.
if grep -rhE '^#include "' "$work/prefix/include" | grep -vE '"(heft|absl)/'; then
  echo "an installed header includes an internal one" >&2
  exit 1
fi
"$work/prefix/bin/heft" --version
"$work/prefix/bin/heft-seal" --version
"$work/prefix/bin/heft-server" --version
