#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A gallery in buckets on two nodes behind a router (sql/router/): enrolment, approval,
# identification, verification and removal through it, opened by the key owner. Calls fail if a node
# is away, hangs, has lost a bucket, or has another gallery instead.
#
#   shards_test.sh BUILD_DIR
set -euo pipefail
here="$(dirname -- "${BASH_SOURCE[0]}")"
source "$here/cluster.sh"
source "$here/world.sh"
source "$here/shards.sh"

need_plproxy
start_cluster "$1"
make_world "$1"
rows="0 4 8 12 16 20"
# shellcheck disable=SC2086
{ encrypt enrolment $rows 5; encrypt identification 5; }
make_router node-a node-b
make_sharded main 4 dba
[[ "$(sql -c "SELECT string_agg(n.name, ' ' ORDER BY bucket) FROM heft_router.buckets b JOIN heft_router.nodes n
  ON number = node")" == "node-a node-b node-a node-b" ]] || die "not in turn"

# The bucket of each identity: by SHA-256 of the name, as Python's hashlib computes it.
for name in 0 1 zoë; do
  expected="$(python3 -c 'import hashlib, sys
print(int.from_bytes(hashlib.sha256(sys.argv[1].encode()).digest()[:8], "little") % 4)' "$name")"
  [[ "$(sql -c "SELECT heft.heft_bucket('$name', 4)")" == "$expected" ]] || die "$name is not in bucket $expected"
done
# shellcheck disable=SC2086
enrol_sharded main $rows
refused 22004 "heft_router.heft_enrol('main', $(pair enrolment 0), NULL)"
[[ "$(sql -c "SELECT sum(pending) FROM heft_router.heft_stats('main')")" == 6 ]] || die "not all wait"
activate_sharded main
[[ "$(sql -c "SELECT sum(templates) FROM heft_router.heft_stats('main')")" == 6 ]] || die "not all were activated"

identify_sharded main 5 "$work/replies"
found_in "$work/replies" 1 || die "whoever was asked for was not found"
rm "$work/replies/2"
"$heft" decrypt --scores --model "$work/owner/model.heft" --secret-key "$work/owner/keys/secret.key" --shards "$work/main.shards" \
  --in "$work/replies"/* 2>"$work/error" && die "three of four buckets are taken for the whole"
grep -q "no reply of 2" "$work/error" || die "$(cat "$work/error")"
verify_sharded main 1 5 "$work/verified"
decide "$work/verified" | grep -q '"identity": "1"' || die "no verification"

# --- The nodes know what they have: a router of another mind is not believed.
bucket="$(sql -c "SELECT heft.heft_bucket('1', 4)")"
other=$(((bucket + 2) % 4))
node="$(sql -c "SELECT node FROM heft_router.buckets WHERE bucket = $other")"
refused 22023 "heft_router.on_node_enrol('main', $other, $node, $(pair enrolment 5), '1', '{}', NULL, NULL, NULL)"
refused HF002 "heft_router.on_node_enrol('main', $other, 1 - $node, $(pair enrolment 5), '1', '{}', NULL, NULL, NULL)"

# --- Never a part. The map lies: two buckets' nodes, two buckets' galleries, one bucket less.
ask="heft_router.heft_identify('main', $(pair identification 5))"
lies() {
  sql -c "BEGIN" -c "$1" -c "$(catching "$ask")" -c "ROLLBACK" | grep -qx "$2" || die "an answer, or not $2: $1"
}
lies "UPDATE heft_router.buckets SET node = 1 - node WHERE bucket IN (2, 3)" HF002
lies "DELETE FROM heft_router.buckets WHERE bucket = 3" HF002
lies "UPDATE heft_router.buckets SET gallery_id = 'x' || gallery_id WHERE bucket = 2" HF002
# A node has lost a bucket; has the head of another gallery under its name.
on node-b -c "CREATE TABLE kept AS SELECT * FROM heft.buckets" -c "DELETE FROM heft.buckets WHERE bucket = 3" >/dev/null
refused HF002 "$ask"
on node-b -c "INSERT INTO heft.buckets SELECT * FROM kept WHERE bucket = 3" >/dev/null
exchange() {  # the heads of two galleries, with their second copies
  local both="SELECT number FROM heft.gallery WHERE name IN ('main.001', 'main.003')"
  on node-b -c "CREATE TABLE heads AS SELECT * FROM heft.gallery_state WHERE gallery IN ($both)" \
    -c "CREATE TABLE copies AS SELECT * FROM heft.other WHERE kind = 1 AND length(key) = 5 AND gallery IN ($both)" \
    -c "DELETE FROM heft.gallery_state h USING heads WHERE h.gallery = heads.gallery" \
    -c "DELETE FROM heft.other o USING copies c WHERE o.kind = c.kind AND o.key = c.key" \
    -c "UPDATE heads SET gallery = (SELECT sum(number) FROM heft.gallery WHERE number IN ($both)) - gallery" \
    -c "UPDATE copies c SET gallery = o.gallery, key = o.key FROM (SELECT gallery, key FROM copies) o
      WHERE o.key <> c.key" \
    -c "INSERT INTO heft.gallery_state SELECT * FROM heads" -c "INSERT INTO heft.other SELECT * FROM copies" \
    -c "DROP TABLE heads, copies" >/dev/null
}
exchange
refused XX001 "$ask" # damaged: a record's checksum covers its gallery's number
exchange
answers

# --- A node that lies: says nothing for a bucket, or says it twice.
on node-b -c "ALTER EXTENSION heft DROP FUNCTION heft.heft_identify_many" -c "ALTER FUNCTION heft.heft_identify_many RENAME TO honest"
lies_by() {
  on node-b -c "CREATE OR REPLACE FUNCTION heft.heft_identify_many(
      galleries text[], probe heft.heft_probe[], conditions text[], identities boolean,
      OUT gallery text, OUT gallery_id text, OUT generation bigint, OUT reply bytea) RETURNS SETOF record
    LANGUAGE sql AS \$\$ SELECT h.gallery, h.gallery_id, h.generation, $1
      FROM heft.honest(galleries, probe, conditions, identities) h $2 \$\$"
  refused "$3" "$ask"
}
lies_by "h.reply" "" answered
lies_by "NULL::bytea" "" HF002
lies_by "''::bytea" "" HF002
lies_by "h.reply" "LIMIT 1" HF002
lies_by "h.reply" ", generate_series(1, 2)" HF002
on node-b -c "DROP FUNCTION heft.heft_identify_many" -c "ALTER FUNCTION heft.honest RENAME TO heft_identify_many"

# --- A node that is away, goes away, and hangs.
sql -c "ALTER DATABASE \"node-b\" ALLOW_CONNECTIONS false" \
  -c "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = 'node-b'" >/dev/null
refused HF001 "$ask"
sql -c "ALTER DATABASE \"node-b\" ALLOW_CONNECTIONS true"
answers
{
  echo "SELECT count(*) FROM $ask;"
  echo "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = 'node-b';"
  catching "$ask"
  echo ";"
  catching "$ask"
} | sql | tr '\n' ' ' | grep -qE '^4 1 (HF001|answered) answered $' || die "a node that goes away"
PGAPPNAME=hanger on node-b -c "BEGIN" -c "LOCK TABLE heft.galleries" -c "SELECT pg_sleep(600)" >/dev/null 2>&1 &
until [[ "$(on node-b -c "SELECT count(*) FROM pg_locks WHERE relation = 'heft.galleries'::regclass
  AND mode = 'AccessExclusiveLock' AND granted")" == 1 ]]; do sleep 0.05; done
sql -c "SET statement_timeout = 500" -c "SELECT count(*) FROM $ask" 2>"$work/error" && die "a node hangs, and an answer"
grep -q "statement timeout" "$work/error" || die "$(cat "$work/error")"
sql -c "UPDATE heft_router.cluster SET timeout = 1, version = version + 1"
refused HF001 "$ask"
sql -c "UPDATE heft_router.cluster SET timeout = 120, version = version + 1"
sql -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hanger'" >/dev/null
wait "$!" || true
answers
# What a node's database says of statements in general ends no call of the router's.
on node-b -c "ALTER DATABASE \"node-b\" SET statement_timeout = '1ms'"
answers
on node-b -c "SET statement_timeout = 0" -c "ALTER DATABASE \"node-b\" RESET statement_timeout"
# A bad probe is the caller's own error, by the node's own state.
refused 22P03 "heft_router.heft_identify('main', ARRAY['rubbish'::bytea])"

# --- Tenants: who sees what, by the router's map and by the nodes' own.
sql -c "CREATE ROLE alice LOGIN" -c "CREATE ROLE bob LOGIN" -c "GRANT heft_prober, heft_enroller, heft_admin TO alice, bob"
as alice -c "SELECT count(*) FROM $ask" 2>"$work/error" && die "another tenant's"
grep -q "another tenant" "$work/error" || die "$(cat "$work/error")"
PGUSER=alice make_sharded hers 2 alice >/dev/null
PGUSER=alice sql -c "SELECT count(*) FROM heft_router.heft_stats('hers')" | grep -qx 2 || die "not her own"
PGUSER=bob sql -c "SELECT count(*) FROM heft_router.heft_stats('hers')" 2>/dev/null && die "another tenant's"
PGUSER=bob refused 42704 "heft_router.heft_remove('hers', '1')"
# Past the map, too; and where the nodes are called as one user, who sees all of them, by the map alone.
past_the_map() {
  PGUSER=bob refused 42704 "heft_router.on_nodes_stats('hers', '{0, 1}', '{0, 1}')"
  PGUSER=bob refused 42704 "heft_router.on_nodes_pending('hers', '{0, 1}', '{0, 1}')"
  PGUSER=bob refused 42704 "heft_router.on_nodes_identify('hers', '{0, 1}', '{0, 1}', '\\x', '{0}', '{}', true)"
  PGUSER=bob refused 42704 "heft_router.on_node_verify('hers', 0, 0, '1', '{}')"
  PGUSER=bob refused 42704 "heft_router.on_node_enrol('hers', 0, 0, '{}', '1', '{}', NULL, NULL, NULL)"
  PGUSER=bob refused 42704 "heft_router.on_node_activate('hers', 0, 0, '\\x')"
  PGUSER=bob refused 42704 "heft_router.on_node_remove('hers', 0, 0, '1', NULL)"
  PGUSER=bob refused 42704 "heft_router.on_nodes_create('hers', 2, '{0}', '{0}', $(file model), $(file evaluation),
    'x', NULL, 'bob')"
}
past_the_map
for node in node-a node-b; do sql -c "SELECT heft_router.heft_change_node('$node', 'host=$PGHOST dbname=$node user=dba')" >/dev/null; done
past_the_map
PGUSER=alice refused answered "heft_router.heft_stats('hers')"
for node in node-a node-b; do sql -c "SELECT heft_router.heft_change_node('$node', 'host=$PGHOST dbname=$node')" >/dev/null; done
refused 23514 "heft_router.heft_change_node('node-a', 'postgresql://dba:secret@$PGHOST/node-a?connect_timeout=9')"
PGUSER=alice refused 42501 "heft_router.heft_add_node('node-c', 'dbname=postgres')"

# --- Removal.
[[ "$(sql -c "SELECT removed FROM heft_router.heft_remove('main', '1')")" == 1 ]] || die "not removed"
identify_sharded main 5 "$work/without"
found_in "$work/without" 1 && die "whoever was removed answers"
echo "shards_test: as it should be"
