#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole flow through SQL: keys and samples of the real programs, enrolment, approval,
# identification, verification and removal by psql, replies opened by `heft decrypt`. Then the same
# with heft-server on a gallery in a folder, with the same results.
#
#   flow_test.sh BUILD_DIR
set -euo pipefail
here="$(dirname -- "${BASH_SOURCE[0]}")"
source "$here/cluster.sh"
source "$here/world.sh"

start_cluster "$1"
make_world "$1"
rows="0 4 8 12 16"
# shellcheck disable=SC2086
{ encrypt enrolment $rows 5; encrypt identification 5; }

# --- In the database.
make_gallery main dba
# shellcheck disable=SC2086
enrol main $rows
[[ "$(sql -c "SELECT count(*) FILTER (WHERE state = 'pending' AND enrolled_at IS NULL), count(*) FROM heft.heft_list('main')")" == "5|5" ]] ||
  die "not all are listed as pending"
[[ "$(activate main)" == 5 ]] || die "not all were activated"
[[ "$(sql -c "SELECT count(*) FROM heft.heft_list('main') WHERE state = 'active' AND enrolled_at > now() - interval '1 hour' AND expires IS NULL")" == 5 ]] ||
  die "not all are listed as active"
identify main 5 "$work/reply"
decide "$work/reply" >"$work/of-database.json"

# --- In a folder.
options=(--quiet --model "$work/owner/model.heft" --keys "$work/owner/keys/evaluation.keys"
  --gallery "$work/gallery" --trust "$work/owner/keys/trust.heft")
for row in $rows; do
  "$heft_server" enrol "${options[@]}" --in "$work/client/enrolment-$row-face.ct" \
    --in "$work/client/enrolment-$row-voice.ct" >/dev/null
done
"$heft_server" pending "${options[@]}" --out "$work/pending" >/dev/null
"$heft" trust add --quiet --trust "$work/owner/keys/trust.heft" --role server \
  --key "$work/gallery/server.pub" --name folder >/dev/null
"$heft" answer --quiet --model "$work/owner/model.heft" --secret-key "$work/owner/keys/secret.key" \
  --in "$work/pending" --out "$work/admission" >/dev/null
"$heft_server" apply "${options[@]}" --in "$work/admission" >/dev/null
"$heft_server" identify "${options[@]}" --in "$work/client/identification-5-face.ct" \
  --in "$work/client/identification-5-voice.ct" --out "$work/reply-of-folder" >/dev/null
decide "$work/reply-of-folder" >"$work/of-folder.json"

# The same people in the same order, and scores within twice what noise and rounding allow.
cat >"$work/same.awk" <<'AWK'
/"identity":/ { gsub(/[",]/, ""); names[FILENAME] = names[FILENAME] " " $2 }
/"score":/ { gsub(/,/, ""); score[FILENAME, ++count[FILENAME]] = $2 }
END {
  a = ARGV[1]; b = ARGV[2]
  if (names[a] == "" || count[a] != 5 || count[b] != 5) { print "no candidates"; exit 1 }
  if (names[a] != names[b]) { print "differ:" names[a] " and" names[b]; exit 1 }
  for (i = 1; i <= 5; ++i) {
    d = score[a, i] - score[b, i]
    if (d > 0.009 || d < -0.009) { print "scores differ by " d; exit 1 }
  }
}
AWK
awk -f "$work/same.awk" "$work/of-database.json" "$work/of-folder.json" ||
  die "database: $(cat "$work/of-database.json"); folder: $(cat "$work/of-folder.json")"
grep -q '"identity": "1"' "$work/of-database.json" || die "whoever was asked for was not found"

# --- 1:1, with the person's own identity and with another.
value_of "$work/verified" "heft.heft_verify('main', '1', $(pair enrolment 5))"
value_of "$work/refused" "heft.heft_verify('main', '2', $(pair enrolment 5))"
decide "$work/verified" | grep -q '"identity": "1"' || die "no verification"
decide "$work/refused" >/dev/null

# --- The same probe repeated on one connection: each reply differs and can be opened.
sql -c "SELECT translate(encode(heft.heft_identify('main', $(pair identification 5)), 'base64'), E'\\n', '')
  FROM generate_series(1, 3)" >"$work/again"
while read -r reply; do
  base64 -d <<<"$reply" >"$work/again.ct"
  decide "$work/again.ct" | grep -q '"identity": "1"' || die "a probe that is asked again is not decided"
done <"$work/again"

# --- Replies are values of the type, unchanged.
sql -c "SELECT length(heft.heft_identify('main', $(pair identification 5))::heft.heft_reply) > 0" |
  grep -qx t || die "a reply is none"

# --- Removal: exact while the journal has the entry.
[[ "$(sql -c "SELECT removed, erased FROM heft.heft_remove('main', '{1}')")" == "1|1" ]] ||
  die "not removed"
identify main 5 "$work/without"
decide "$work/without" | grep -q '"identity": "1"' && die "whoever was removed answers"
[[ "$(sql -c "SELECT templates FROM heft.heft_stats('main')")" == 4 ]] || die "the count is wrong"

# --- pg_dump and pg_restore: the same gallery, by its root, and it answers.
root="$(sql -c "SELECT root FROM heft.heft_stats('main')")"
"$pg_bin/pg_dump" -Fc -f "$work/dump"
sql -c "CREATE DATABASE restored"
"$pg_bin/pg_restore" --exit-on-error -d restored "$work/dump" >"$work/restore.log" 2>&1 ||
  die "pg_restore: $(cat "$work/restore.log")"
export PGDATABASE=restored
[[ "$(sql -c "SELECT root FROM heft.heft_stats('main')")" == "$root" ]] ||
  die "the restored gallery is another"
believe main
identify main 5 "$work/of-restored"
decide "$work/of-restored" >/dev/null

# --- Two enrolments of a new name wait side by side. The key owner picks neither until one is chosen.
encrypt enrolment 20 24
for row in 20 24; do
  sql -c "SELECT brought FROM heft.heft_enrol('main', $(pair enrolment "$row"), 'carol')" >/dev/null
done
answer() {
  value_of "$work/pending" "heft.heft_pending('main')"
  "$heft" answer --quiet --json --model "$work/owner/model.heft" \
    --secret-key "$work/owner/keys/secret.key" --in "$work/pending" --out "$work/$1" "${@:2}"
  bring "$1" "$work/$1"
}
answer undecided >"$work/undecided.json"
mapfile -t entries < <(grep -o '"entry": "[0-9a-f]*"' "$work/undecided.json" | cut -d'"' -f4)
((${#entries[@]} == 2)) || die "not two claims: $(cat "$work/undecided.json")"
[[ "$(sql -c "SELECT activated, rejected, pending FROM heft.heft_activate('main', $(file undecided))")" == "0|0|2" ]] ||
  die "one was picked"
answer first --entry "${entries[0]}" >/dev/null
answer second --entry "${entries[1]}" >/dev/null
[[ "$(sql -c "SELECT activated, pending FROM heft.heft_activate('main', $(file first))")" == "1|1" ]] ||
  die "the chosen one was not activated"
sql -c "SELECT heft.heft_activate('main', $(file second))" 2>"$work/error" && die "two were activated as carol"
grep -q '"carol" is enrolled already' "$work/error" || die "whose name is taken? $(cat "$work/error")"
answer rest | grep -q ENROLLED || die "the other needs no registrar"
[[ "$(sql -c "SELECT rejected, pending FROM heft.heft_activate('main', $(file rest))")" == "1|0" ]] ||
  die "the other one waits on"
echo "flow_test: as it should be"
