# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by the scripts in this folder; meant to be sourced by bash.

root="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)"

say() { printf '%s\n' "$*" >&2; }

die() {
  say "error: $*"
  exit 1
}

# usage: prints what the script's opening comment says, and ends it: asked for after arguments, which were looked at.
usage() {
  awk 'NR > 2 && !/^#/ { exit } NR > 2 { sub(/^# ?/, ""); print }' "$0"
  exit 0
}

# Configures the release preset and builds the targets given, or everything.
build_release() { build_preset release "$@"; }

# build_preset PRESET [TARGET]...: the same of another preset.
build_preset() {
  local preset="$1"
  shift
  local jobs="${HEFT_JOBS:-$(nproc)}"
  # CMake reads the launcher when a folder is configured for the first time.
  if [[ -z "${CMAKE_CXX_COMPILER_LAUNCHER:-}" ]] && command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache
  fi
  # ccache then finds what another checkout compiled.
  export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$root}"
  local targets=()
  (($# == 0)) || targets=(--target "$@")
  # Written with ||, so that a failure counts also where the caller tests this function and bash
  # therefore ignores `set -e` in it.
  (
    cd "$root" || exit
    cmake --preset "$preset" || exit
    cmake --build "build/$preset" --parallel "$jobs" "${targets[@]}"
  )
}
