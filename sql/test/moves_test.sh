#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Buckets that move from node to node while probes are answered (sql/router/moves.sql): nothing of
# them is lost, whatever is killed in the middle, and never do two nodes take changes.
#
#   moves_test.sh BUILD_DIR
set -euo pipefail
here="$(dirname -- "${BASH_SOURCE[0]}")"
source "$here/cluster.sh"
source "$here/world.sh"
source "$here/shards.sh"

need_plproxy
start_cluster "$1"
make_world "$1"
{ encrypt enrolment 0 4 8 12 16 20; encrypt identification 5; }
make_router node-a node-b
nodes="'{node-a}'" make_sharded main 2 dba
for node in node-a node-b; do
  printf '[%s]\nhost=%s\nuser=%s\ndbname=%s\n' "$node" "$PGHOST" "$PGUSER" "$node" >>"$work/services"
done
export PGSERVICEFILE="$work/services"
mkdir -m 0700 "$work/mover"
enrol_sharded main 0 4 8
activate_sharded main
enrol_sharded main 12
ask="heft_router.heft_identify('main', $(pair identification 5))"

copy() {
  HEFT_STATE_DIR="$work/mover" "$heft_server" gallery copy --quiet --from "postgres:$2:main.00$1" \
    --gallery "postgres:$3:main.00$1" >/dev/null 2>"$work/copy.log"
}
content() {  # of the whole: what is in it, wherever it is
  sql -c "SELECT string_agg(root || templates || pending, ' ' ORDER BY bucket) FROM heft_router.heft_stats('main')"
  for node in node-a node-b; do
    on "$node" -c "SELECT name, heft.heft_digest(name) FROM heft.buckets WHERE state IN ('serving', 'leaving')"
  done | sort
}
node_of() { sql -c "SELECT name FROM heft_router.buckets JOIN heft_router.nodes ON number = node WHERE bucket = $1"; }
other_than() { [[ "$1" == node-a ]] && echo node-b || echo node-a; }
one_writes() {
  local serving
  serving="$(for node in node-a node-b; do on "$node" -c "SELECT name FROM heft.buckets WHERE state = 'serving'"; done | sort | uniq -d)"
  [[ -z "$serving" ]] || die "two nodes take changes: $serving"
}

# --- A move is called off before the copy starts. The new node has the gallery's row and no entries.
before="$(content)"
sql -c "CALL heft_router.heft_move('main', 0, 'node-b')"
[[ "$(on node-b -c "SELECT state, digest IS NULL FROM heft.heft_bucket_state('main', 0)")" == "coming|t" ]] ||
  die "the new node has entries before the copy"
sql -c "CALL heft_router.heft_move_abort('main', 0)"
[[ "$(content)" == "$before" && "$(node_of 0)" == node-a ]] || die "called off before the copy, and not as before"
[[ "$(on node-b -c "SELECT count(*) FROM heft.galleries WHERE name = 'main.000'")" == 0 ]] ||
  die "the new node still has the gallery"

# --- A move, with probes all the time, which all are answered by the whole.
touch "$work/moving"
{
  answered=0
  while [[ -f "$work/moving" ]]; do
    [[ "$(sql -c "SELECT count(*) FROM $ask")" == 2 ]] || die "no answer in the middle of a move"
    ((++answered))
  done
  echo "$answered" >"$work/answered"
} &
asking=$!
before="$(content)"
sql -c "CALL heft_router.heft_move('main', 0, 'node-b')"
name="$(awk 'NR % 4 == 1' "$work/samples/labels.txt" | sort -u | while read -r who; do
  [[ "$(sql -c "SELECT heft.heft_bucket('$who', 2)")" == 1 ]] || { echo "$who"; break; }; done)"
refused HF003 "heft_router.heft_enrol('main', $(pair enrolment 16), '$name')"
refused HF003 "heft_router.on_node_enrol('main', 0, 0, $(pair enrolment 16), '$name', '{}', NULL, NULL, NULL)"
refused HF002 "heft_router.on_node_enrol('main', 0, 1, $(pair enrolment 16), '$name', '{}', NULL, NULL, NULL)"
sql -c "CALL heft_router.heft_moved('main', 0)" 2>"$work/error" && die "moved without a copy"
grep -q "gallery copy" "$work/error" || die "$(cat "$work/error")"
copy 0 node-a node-b || die "$(cat "$work/copy.log")"
# A copy that is not the same is not taken.
on node-b -c "CREATE TABLE kept AS SELECT * FROM heft.pending" -c "UPDATE heft.pending SET bytes = bytes + 1" >/dev/null
[[ "$(on node-b -c "SELECT count(*) FROM kept")$(on node-a -c "SELECT count(*) > 0 FROM heft.pending")" != 0f ]] || die "nobody waits"
on node-b -c "UPDATE heft.gallery_state SET live = live + 1"
sql -c "CALL heft_router.heft_moved('main', 0)" 2>"$work/error" && die "another copy was taken"
grep -q "no exact copy" "$work/error" || die "$(cat "$work/error")"
sql -c "CALL heft_router.heft_move_abort('main', 0)"
[[ "$(content)" == "$before" ]] || die "called off, and not as before"
refused answered "heft_router.on_nodes_stats('main', '{0, 1}', '{0, 0}')"
sql -c "CALL heft_router.heft_move('main', 0, 'node-b')"
copy 0 node-a node-b || die "$(cat "$work/copy.log")"
sql -c "CALL heft_router.heft_moved('main', 0)"
rm "$work/moving"
wait "$asking" || die "not all probes were answered"
(($(cat "$work/answered") > 0)) || die "nobody asked"
[[ "$(content)" == "$before" && "$(node_of 0)" == node-b ]] || die "not the same: $before; $(content)"
# Nothing of it is left in the tables of the old node, which keep the other bucket's head and its
# end of the key owner's journal, twice. The new one is intact.
left="$(on node-a -c "SELECT (SELECT count(*) FROM heft.gallery_state) + (SELECT count(*) FROM heft.other WHERE kind = 1)
  UNION ALL SELECT count(*) FROM heft.blobs WHERE uses = 0
  UNION ALL SELECT count(*) FROM heft.galleries UNION ALL SELECT count(*) FROM heft.buckets")"
[[ "$(tr '\n' ' ' <<<"$left")" == "4 0 1 1 " ]] || die "left: $left"
for place in node-b:main.000 node-a:main.001; do
  HEFT_STATE_DIR="$work/mover" "$heft_server" gallery stats --verify --gallery "postgres:$place" --model "$work/owner/model.heft" >"$work/verify.log" 2>&1 ||
    die "$place: $(cat "$work/verify.log")"
done
# Pending enrolments are approved there, and people are enrolled there.
activate_sharded main
enrol_sharded main 16
activate_sharded main
[[ "$(sql -c "SELECT sum(templates) FROM heft_router.heft_stats('main')")" == 5 ]] || die "not all five are there"
identify_sharded main 5 "$work/replies"
found_in "$work/replies" 1 || die "whoever was asked for was not found"

# --- Killed in the middle: at any time, any backend; then on, or back.
before="$(content)"
ends=0
there() { [[ "$(content)" == "$before" ]] || die "round $round: not the same: $before; $(content)"; }
for ((round = 0; round < ${ROUNDS:-6}; ++round)); do
  bucket=$((round % 2))
  from="$(node_of "$bucket")"
  to="$(other_than "$from")"
  (
    sleep "0.$((RANDOM % 90 + 10))"
    sql -c "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity
      WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' AND
      (query ~ 'CALL|heft_bucket' OR $((RANDOM % 3)) = 0)) v"
  ) >/dev/null 2>&1 &
  killer=$!
  { sql -c "CALL heft_router.heft_move('main', $bucket, '$to')" && copy "$bucket" "$from" "$to" &&
    sql -c "CALL heft_router.heft_moved('main', $bucket)"; } >/dev/null 2>"$work/error" || ((++ends))
  wait "$killer" || true
  one_writes
  state="$(catching "$ask" | sql)"
  [[ "$state" == answered ]] || die "round $round: no answer after a kill: $state"
  # On, or back where that can be; until it is through.
  if ((RANDOM % 2)); then
    sql -c "CALL heft_router.heft_move_abort('main', $bucket)" >/dev/null 2>&1 || true
  fi
  for ((tries = 0; tries < 4; ++tries)); do
    [[ "$(sql -c "SELECT count(*) FROM heft_router.buckets WHERE moves_to IS NULL AND moved_from IS NULL AND NOT called_off")" != 2 ]] || break
    if [[ "$(sql -c "SELECT called_off FROM heft_router.buckets WHERE bucket = $bucket")" == t ]]; then
      sql -c "CALL heft_router.heft_move_abort('main', $bucket)" >/dev/null 2>"$work/error" || true
    elif ! sql -c "CALL heft_router.heft_moved('main', $bucket)" >/dev/null 2>"$work/error"; then
      sql -c "CALL heft_router.heft_move('main', $bucket, '$to')" >/dev/null 2>"$work/error" || true
      copy "$bucket" "$from" "$to" || true
    fi
  done
  ((tries < 4)) || die "round $round: it does not end: $(cat "$work/error" "$work/copy.log")"
  one_writes
  there
done
((ends > 0)) || die "nothing was killed"
enrol_sharded main 20
identify_sharded main 5 "$work/replies"
found_in "$work/replies" 1 || die "whoever was asked for was not found"
grep -qE "PANIC|terminated by signal" "$work/log" && die "$(tail -n 20 "$work/log")"
echo "moves_test: as it should be; $ends moves were killed"
