#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A gallery on a read-only file system: everything that only reads works, and each change ends with
# exit code 4 and says why. The file system is a bind mount in a namespace of its own.
#
#   tests/read_only_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
if [[ "${3:-}" != inside ]]; then
  unshare --mount --map-root-user true 2>/dev/null || { echo "skipped: this user may not make mounts"; exit 0; }
  exec unshare --mount --map-root-user bash "$0" "$1" "$2" inside
fi
# shellcheck source=scripts/common.sh
source "$1/scripts/common.sh"
heft="$2/cli/heft" server="$2/cli/heft-server"
work="$(mktemp -d)"
trap 'umount "$work/frozen" 2>/dev/null || true; rm -rf -- "$work"' EXIT
export HEFT_STATE_DIR="$work/state"

"$heft" synth --quiet --out "$work/data" --identities 120 --samples 4 --dimensions 24 16 >/dev/null
"$heft" train --quiet --data "$work/data" --gamma 32 --no-exact --out "$work/m.heft" >/dev/null
"$heft" keygen --quiet --model "$work/m.heft" --out "$work/keys" >/dev/null
samples=() probe=()
for modality in face voice; do
  for use in enrolment identification; do
    "$heft" encrypt --quiet --model "$work/m.heft" --key "$work/keys/encryption.key" --modality "$modality" \
      --in "$work/data/$modality.npy" --row 0 --label ann --for "$use" --out "$work/$use-$modality.ct" >/dev/null
  done
  samples+=(--in "$work/enrolment-$modality.ct") probe+=(--in "$work/identification-$modality.ct")
done
of() { echo --model "$work/m.heft" --keys "$work/keys/evaluation.keys" --gallery "$work/$1"; }
# shellcheck disable=SC2046
"$server" enrol --quiet $(of frozen) "${samples[@]}" >/dev/null
mount --bind "$work/frozen" "$work/frozen"
mount -o remount,ro,bind "$work/frozen"

# reads COMMAND...: works. changes COMMAND...: exit code 4.
reads() { "$server" "$@" >"$work/said" 2>&1 || die "$1 ${2:-}: $(cat "$work/said")"; }
changes() {
  local code=0
  "$server" "$@" >"$work/said" 2>&1 || code=$?
  ((code == 4)) || die "$1 ${2:-} ended with $code, not 4: $(cat "$work/said")"
  grep -q "is on a read-only file system: mount it for writing" "$work/said" || die "$(cat "$work/said")"
}
for command in stats list "stats --verify" "list --erased"; do
  # shellcheck disable=SC2086
  reads gallery $command --gallery "$work/frozen"
done
reads gallery snapshot --gallery "$work/frozen" --out "$work/copy"
reads gallery copy --from "$work/frozen" --gallery "$work/exported"
# shellcheck disable=SC2046
reads identify $(of frozen) "${probe[@]}" --out "$work/reply.ct"
# shellcheck disable=SC2046
reads pending $(of frozen) --out "$work/pending.ct"
# shellcheck disable=SC2046
changes enrol $(of frozen) "${samples[@]}"
# shellcheck disable=SC2046
changes gallery compact $(of frozen)
# shellcheck disable=SC2046
changes gallery remove $(of frozen) --identity ann
reads gallery stats --verify --gallery "$work/copy"
echo "a gallery on a read-only file system: read, and not changed"
