#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Stands in for a program that a test must not or cannot run: one that installs, takes hours, or
# needs root, systemd or a network. The name of the link to this file selects the program. It
# refuses arguments that the program would not understand or that name a missing object, and
# otherwise does the harmless part. run_page.py puts it into $PATH and also uses it for scripts/*.
set -euo pipefail
name="$(basename "$0")"
echo "$HEFT_BLOCK $name" >>"$HEFT_STAND_INS"
refuse() {
  echo "$name $arguments: $*" >&2
  exit 97
}
arguments="$*"
systemd="$HEFT_SOURCE/packaging/systemd"
ctest="$(dirname "$HEFT_CMAKE")/ctest"

# is_user NAME: refuses a user that is neither made by a service's package nor Debian's postgres.
is_user() { [[ "$1" == postgres ]] || grep -qE "^u $1 " "$systemd"/*.sysusers || refuse "no package makes the user $1"; }
# is_preset PROGRAM NAME
is_preset() { (cd "$HEFT_SOURCE" && "$1" --list-presets) | grep -qF "\"$2\"" || refuse "no preset $2"; }

# tests ARGUMENT...: checks that ctest would run a test. Runs ctest in a folder of its own
# (run_page.py).
tests() {
  local said
  said="$("$ctest" --test-dir "$HEFT_SANDBOX/.ctest" --show-only "$@")" || refuse "$said"
  grep -qE '^Total Tests: [1-9]' <<<"$said" || refuse "no tests are such"
}

# script: checks arguments of a script. With --help after valid arguments, a script prints its
# usage; it exits with an error after invalid ones.
script() {
  local said word
  [[ -x "$HEFT_SOURCE/scripts/$name" ]] || refuse "there is no such script"
  said="$("$HEFT_SOURCE/scripts/$name" "$@" --help)" || refuse "it does not take these arguments"
  grep -qF "scripts/" <<<"$said" || refuse "it does not say how it is used"
  for word in "$@"; do
    [[ "$word" != -* ]] || grep -qF -- "$word" <<<"$said" || refuse "its usage has no $word"
  done
  [[ "$arguments" != *" -R "* ]] || tests -R "${arguments##* -R }"
}

cmake() {
  case "$1" in
    --preset) is_preset "$HEFT_CMAKE" "$2" ;;
    --build) is_preset "$HEFT_CMAKE" "${2#build/}" ;;
    --install) # what is built here, below a root of the test's
      is_preset "$HEFT_CMAKE" "${2#build/}"
      DESTDIR="$HEFT_SANDBOX/root" "$HEFT_CMAKE" --install "$HEFT_BUILD" "${@:3}" >/dev/null
      ;;
    *) refuse "what is that?" ;;
  esac
}

ctest() {
  [[ "$1" == --preset ]] || refuse "no --preset"
  is_preset "$ctest" "$2"
  tests "${@:3}"
}

apt() {
  local file
  [[ "$1" == install ]] || refuse "not install"
  for file in "${@:2}"; do
    if [[ "$file" != ./*.deb ]]; then
      grep -qF "| \`$file\` |" "$HEFT_SOURCE/docs/dependencies.md" || refuse "$file is no package of ours, nor one that we use"
      continue
    fi
    file="$(basename "${file%%_*}" .deb)"
    [[ "$file" == "*" ]] || grep -qx "Package: $file" "$HEFT_SOURCE/packaging/debian/control" || refuse "there is no package $file"
  done
}

systemctl() {
  local unit
  [[ "$*" != daemon-reload ]] || return 0
  [[ "$1 $2" == "enable --now" ]] || refuse "what is that?"
  for unit in "${@:3}"; do [[ -f "$systemd/$unit" ]] || refuse "there is no unit $unit"; done
}

systemd-sysusers() {
  (($# == 0)) || refuse "what is that?"
  compgen -G "$HEFT_SANDBOX/root/usr/lib/sysusers.d/heft-*.conf" >/dev/null || refuse "no users are installed"
}

# systemd-run: runs the command as the current user, with its credential and environment.
systemd-run() {
  local command=(env)
  while [[ "$1" == -* ]]; do
    case "$1 $2" in
      "--pipe "* | "--wait "*) shift && continue ;;
      "-p User="*) is_user "${2#*=}" ;;
      "-p LoadCredential="*)
        mkdir -p "$HEFT_SANDBOX/.credentials"
        /usr/bin/install -m 400 "${2#*:}" "$HEFT_SANDBOX/.credentials/$(cut -d = -f 2 <<<"${2%%:*}")"
        command+=("CREDENTIALS_DIRECTORY=$HEFT_SANDBOX/.credentials")
        ;;
      "-p "*) grep -qx "${2}" "$systemd"/*.service || refuse "no unit has $2" ;;
      "-E "*) command+=("$2") ;;
      *) refuse "what is $1?" ;;
    esac
    shift 2
  done
  "${command[@]}" "$@"
}

runuser() {
  [[ "$1 $3" == "-u --" ]] || refuse "not -u USER --"
  is_user "$2"
  "${@:4}"
}

chown() {
  [[ "$1" != -R ]] || shift
  is_user "${1%%:*}"
  ls -d -- "${@:2}" >/dev/null
}

install() {
  local options=()
  while [[ "$1" == -* ]]; do
    case "$1" in
      -d) options+=(-d) && shift && continue ;;
      -m) options+=(-m "$2") ;;
      -o | -g) is_user "$2" ;;
      *) refuse "what is $1?" ;;
    esac
    shift 2
  done
  /usr/bin/install "${options[@]}" "$@"
}

# podman: holds the arguments to the Containerfiles.
podman() {
  local images="$HEFT_SOURCE/packaging/containers" file options
  case "$1 $2" in
    "build --format")
      [[ "${*:3:4} $7 $8" == "docker -t $5 -f packaging/containers/$5.Containerfile build/packages" ]] || refuse "what is that?"
      [[ -f "$images/$5.Containerfile" ]] || refuse "there is no such Containerfile"
      ;;
    "secret create") [[ "$*" == "secret create heft-passphrase decider.passphrase" ]] || refuse "what is that?" ;;
    "run "*)
      file="$images/${*: -1}.Containerfile"
      [[ -f "$file" ]] || refuse "there is no such image"
      options="$(printf '%s\n' "${@:2}" | grep -cxE -e '--read-only|--cap-drop|no-new-privileges' || true)"
      ((options == 3)) || refuse "the container is not confined"
      shift
      while (($# > 1)); do
        case "$1 $2" in
          "--read-only "*) shift && continue ;;
          "--cap-drop all" | "--security-opt no-new-privileges" | "--ulimit memlock=-1") ;;
          "-p "*) grep -qx "EXPOSE ${2#*:}" "$file" || refuse "the image has no port ${2#*:}" ;;
          "-v "*:/etc/heft:ro) ;;
          "-v "*) grep -E '^VOLUME' "$file" | grep -qF "\"${2#*:}\"" || refuse "the image has no volume ${2#*:}" ;;
          "--secret "*) [[ "$2" == "heft-passphrase,target=passphrase,uid=8444,gid=8444,mode=0400" ]] || refuse "$2" ;;
          *) refuse "what is $1?" ;;
        esac
        shift 2
      done
      ;;
    *) refuse "what is that?" ;;
  esac
}

# A dry run of the installation from the sources, which are not built for it.
sudo() { env "$@"; }

pip() {
  [[ "$1 $2 $3" == "install --no-index ." ]] || refuse "what is that?"
  "$(dirname "$0")/python3" -m pip --quiet --disable-pip-version-check install --dry-run --no-index "$HEFT_SOURCE"
}

case "$0" in
  scripts/* | */scripts/*) script "$@" ;;
  *) case "$name" in
    apt | chown | cmake | ctest | install | pip | podman | runuser | sudo | systemctl | systemd-run | systemd-sysusers) "$name" "$@" ;;
    *) refuse "nobody stands in for that" ;;
  esac ;;
esac
