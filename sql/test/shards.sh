#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# For tests, to source after world.sh: nodes, each a database of this server, and a router, which is
# the database of the world.
#
#   need_plproxy                    leaves the test out where it is not installed
#   make_router NODE...             databases of these names, and their router
#   make_sharded NAME BUCKETS TENANT   a gallery; $work/NAME.shards: its shard list
#   enrol_sharded NAME ROW...       rows that are encrypted, under the names of world's data
#   activate_sharded NAME              the key owner's part in it
#   identify_sharded NAME ROW DIR   a reply of each bucket, by psql, into DIR/BUCKET
#   verify_sharded NAME IDENTITY ROW OUT
#   found_in DIR IDENTITY [NAME]    whether the key owner finds the identity in these replies, which
#                                   must be complete by the shard list of the gallery (main)
#   on NODE [PSQL OPTIONS]          psql on a node
#   catching CALL, refused STATE CALL, answers     whether a call is refused, and how

need_plproxy() {
  [[ -f /usr/share/postgresql/15/extension/plproxy.control ]] || { echo "PL/Proxy is not installed: left out"; exit 77; }
}

on() {
  local node="$1"
  shift
  PGDATABASE="$node" sql "$@"
}

make_router() {
  local node
  # It is installed beside the server, so it is copied to where the server looks now.
  cp /usr/share/postgresql/15/extension/plproxy* "$work/destination/usr/share/postgresql/15/extension/"
  sql -c "CREATE EXTENSION plproxy" -c "CREATE EXTENSION heft_router"
  for node in "$@"; do
    sql -c "CREATE DATABASE \"$node\""
    on "$node" -c "CREATE EXTENSION heft"
    sql -c "SELECT heft_router.heft_add_node('$node', 'host=$PGHOST dbname=$node')" >/dev/null
  done
}

make_sharded() {
  sql -c "SELECT heft_router.heft_create_gallery('$1', $2, $(file model), $(file evaluation),
    convert_from($(file trust), 'UTF8'), $(file enrolment), '$3', ${nodes:-NULL})" >"$work/$1.shards"
}

enrol_sharded() {
  local row name
  for row in "${@:2}"; do
    name="$(sed -n "$((row + 1))p" "$work/samples/labels.txt")"
    sql -c "SELECT brought FROM heft_router.heft_enrol('$1', $(pair enrolment "$row"), '$name')" >/dev/null
  done
}

activate_sharded() {
  local key bucket
  for key in $(sql -c "SELECT DISTINCT server_key FROM heft_router.heft_stats('$1')"); do
    grep -q "$key" "$work/owner/keys/trust.heft" && continue
    echo "$key server" >"$work/server.pub"
    "$heft" trust add --quiet --trust "$work/owner/keys/trust.heft" --role server \
      --key "$work/server.pub" --name "node-${key:0:8}" >/dev/null
  done
  for bucket in $(sql -c "SELECT bucket FROM heft_router.heft_stats('$1') WHERE pending > 0"); do
    value_of "$work/pending" "SELECT request FROM heft_router.heft_pending('$1') WHERE bucket = $bucket"
    "$heft" answer --quiet --model "$work/owner/model.heft" --secret-key "$work/owner/keys/secret.key" \
      --shards "$work/$1.shards" --in "$work/pending" --out "$work/admission" >/dev/null
    bring admission "$work/admission"
    sql -c "SELECT activated FROM heft_router.heft_activate('$1', $bucket, $(file admission))" >/dev/null
    rm "$work/pending" "$work/admission"
  done
}

identify_sharded() {
  local bucket reply
  mkdir -p "$3"
  sql -c "SELECT bucket, translate(encode(reply, 'base64'), E'\n', '')
    FROM heft_router.heft_identify('$1', $(pair identification "$2"))" |
    while IFS='|' read -r bucket reply; do base64 -d <<<"$reply" >"$3/$bucket"; done
}

verify_sharded() {
  value_of "$4" "SELECT reply FROM heft_router.heft_verify('$1', '$2', $(pair enrolment "$3"))"
}

found_in() {
  "$heft" decrypt --scores --json --quiet --model "$work/owner/model.heft" --secret-key "$work/owner/keys/secret.key" \
    --shards "$work/${3:-main}.shards" --in "$1"/* >"$work/found" || die "the replies of the whole are refused"
  grep -q "\"identity\": \"$2\"" "$work/found"
}

catching() {
  printf '%s\n' "DO \$\$ BEGIN PERFORM * FROM $1; PERFORM set_config('test.state', 'answered', false);
    EXCEPTION WHEN OTHERS THEN PERFORM set_config('test.state', SQLSTATE, false);
      PERFORM set_config('test.why', SQLERRM, false); END \$\$; SELECT current_setting('test.state')"
}

refused() {
  local state
  state="$( (catching "$2"; echo "; SELECT current_setting('test.why', true) \\g $work/why") | sql)"
  [[ -z "${VERBOSE:-}" ]] || cat "$work/why" >&2
  [[ "$state" == "$1" ]] || die "$state, not $1: $2"
}

answers() { refused answered "$ask"; }
