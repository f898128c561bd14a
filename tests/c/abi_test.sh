#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that the C interface is the one that docs/abi.md promises: the libraries show the functions
# that the headers declare and c/heft_c.map lists, and the types are those of the stored
# description, c/heft_c.abi. Run by CTest. Without abidiff, the second half is skipped with a
# message.
#
#   tests/c/abi_test.sh CC SOURCE LIBHEFT_C LIBHEFT_C_SERVER
#   tests/c/abi_test.sh CC SOURCE --update      writes the stored description anew
#
# abidiff compares a library of empty functions that heft.h declares. The compiler checks the real
# functions against the same declarations, and their debug information would include all of C++'s
# library.
set -euo pipefail
compiler="$1" source="$2"
work="$(mktemp -d)"
trap 'rm -rf -- "$work"' EXIT
fail() { echo "abi_test: $*" >&2; exit 1; }

# make_stub: makes the library `$2` of empty functions from heft.h in the folder `$1`.
make_stub() {
  {
    "$compiler" -E -P -I"$1" "$1/heft.h" | tr '\n' ' ' | sed 's/;/;\n/g' |
      sed '/visibility("default")/ s/;$/ { __builtin_trap(); }/'
  } >"$2.c"
  "$compiler" -std=c11 -g -gdwarf-4 -O0 -w -shared -fPIC -fvisibility=hidden -fdebug-prefix-map="$work"=. \
    -Wl,-soname,libheft_c.so.1 -Wl,--version-script="$source/c/heft_c.map" "$2.c" -o "$2"
}
describe() { abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed "$1" "${@:2}"; }

if [[ "$3" == --update ]]; then
  make_stub "$source/include" "$work/libheft_c.so"
  describe "$work/libheft_c.so" --out-file "$source/c/heft_c.abi"
  exit
fi
library="$3" server="$4"

# Names in the headers, in the map and in the libraries.
shown() { nm -D --defined-only "$1" | awk '$2 == "T" || $2 ~ /[BDRVW]/ { print $3 }' | sort; }
names() { sed 's/@.*//'; }
sed 's://.*::' "$source"/include/heft/c/*.h | tr '\n' ' ' | sed 's/;/;\n/g' |
  sed -n 's/.*HEFT_C_API [^(]*\b\(heft_[a-z0-9_]*\)(.*/\1/p' | sort >"$work/declared"
sed -n 's/^ *\(heft_[a-z0-9_]*\);$/\1/p' "$source/c/heft_c.map" | sort >"$work/listed"
shown "$library" | names >"$work/shown"
shown "$server" | names >"$work/shown_by_server"
[[ "$(wc -l <"$work/declared")" -ge 100 ]] || fail "read $(wc -l <"$work/declared") declarations alone"
diff "$work/declared" "$work/listed" || fail "c/heft_c.map lists other functions than the headers declare"
diff "$work/declared" "$work/shown" || fail "$library shows other functions than the headers declare"
grep -vE '^heft_(key_(set|owner)|shared_key|blank_share|learn|calibrate|dataset|vectors_read|labels_read|run_)|^heft_(evaluate|check_drawing|draw_|fold_file|load_folds|model_describe_training|models_|scores_|default_limits|workspace)|^heft_seal_(export_evaluation|export_secret|import_secret)' "$work/declared" >"$work/of_servers"
diff "$work/of_servers" "$work/shown_by_server" ||
  fail "$server shows other functions than client and server have"
shown "$library" | grep -v '@@HEFT_C_1\.' && fail "$library shows functions without a version of ABI 1"
echo "abi_test: $(wc -l <"$work/declared") functions, as declared, listed and shown"

if ! command -v abidiff >/dev/null; then
  echo "abi_test: abidiff is not installed (abigail-tools): types were not compared"
  exit
fi
if [[ "$(uname -m)" != x86_64 ]]; then
  echo "abi_test: the description is of x86-64: types were not compared"
  exit
fi
make_stub "$source/include" "$work/libheft_c.so"
# Exit codes are bits: 4 means a change, 8 means a change that breaks programs.
compare() { abidiff --no-added-syms "$source/c/heft_c.abi" "$1"; }
compare "$work/libheft_c.so" || fail "types have changed: that is another ABI (docs/abi.md)"
abidiff "$source/c/heft_c.abi" "$work/libheft_c.so" ||
  fail "new functions: describe them with tests/c/abi_test.sh ${compiler##*/} . --update"

# The comparison must find each of these changes.
breaks() {  # FILE SED_EXPRESSION
  rm -rf "$work/broken"
  cp -r "$source/include" "$work/broken"
  sed -i "$2" "$work/broken/heft/c/$1"
  cmp -s "$source/include/heft/c/$1" "$work/broken/heft/c/$1" && fail "\"$2\" changes nothing in $1"
  make_stub "$work/broken" "$work/libbroken.so"
  if compare "$work/libbroken.so" >"$work/report"; then
    fail "a change was not found: $1, $2"
  fi
}
breaks model.h 's/heft_model\* model, double fmr/heft_model* model, float fmr/'
breaks base.h 's/^  size_t size;/  unsigned size;/'
breaks base.h 's/HEFT_NOT_FOUND = 5/HEFT_NOT_FOUND = 4/'
breaks base.h 's/heft_set_thread_count(int threads)/heft_set_thread_count(int threads, int more)/'
breaks base.h 's/^HEFT_C_API const char\* heft_version(void);//'
breaks matcher.h 's/(void\* user, size_t row, heft_bytes reply)/(void* user, heft_bytes reply)/'
echo "abi_test: types are as described, and changes of them are found"
