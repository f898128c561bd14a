#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 1,024 fused dimensions through SQL: enrolment, admission, identification, verification, decisions
# and removal with its receipt. Keys are ten times as large as in other tests, and a template 64.
#
#   wide_test.sh BUILD_DIR
set -euo pipefail
here="$(dirname -- "${BASH_SOURCE[0]}")"
source "$here/cluster.sh"
source "$here/world.sh"

start_cluster "$1"
make_world "$1" wide
{ encrypt enrolment 0 4 5; encrypt identification 1; }

make_gallery main dba
[[ "$(sql -c "SELECT gamma FROM heft.heft_stats('main')")" == 1024 ]] || die "not 1,024 dimensions"
enrol main 0 4
[[ "$(activate main)" == 2 ]] || die "not all were activated"

# decides WHAT REPLY RULE...: the decision on it.
decides() { decide "$2" "${@:3}" >"$work/$1.json" || die "$1: no decision"; }
says() { grep -q "$2" "$work/$1.json" || die "$1: $(cat "$work/$1.json")"; }
identify main 1 "$work/reply"
decides search "$work/reply" --fpir 0.1
says search '"identity": "0"'
value_of "$work/right" "heft.heft_verify('main', '1', $(pair enrolment 5))"
value_of "$work/wrong" "heft.heft_verify('main', '0', $(pair enrolment 5))"
decides right "$work/right" --fmr 0.01
decides wrong "$work/wrong" --fmr 0.01
says right '"accepted": true'
says wrong '"accepted": false'

[[ "$(sql -c "SELECT removed, erased FROM heft.heft_remove('main', '{0}')")" == "1|1" ]] ||
  die "not removed"
identify main 1 "$work/without"
decides removed "$work/without" --fpir 0.1
says removed '"accepted": false'
[[ "$(sql -c "SELECT templates FROM heft.heft_stats('main')")" == 1 ]] || die "the count is wrong"
echo "wide_test: as it should be"
