# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# A cluster of PostgreSQL under Patroni on this machine, as if each of its nodes were one of its own: for
# scripts/demo-cluster and scripts/try-failovers. Meant to be sourced after common.sh.
#
#   own_namespaces ARGUMENT...  goes on in namespaces of its own (processes, network, mounts), with a folder
#                               $work (mode 0711); returns only there. Whatever ends the script ends all in it.
#   start_cluster [SETTING]...  starts etcd, and three nodes below $work; more of Patroni's settings, as "ttl: 8".
#   wait_for_cluster            waits for one primary, one synchronous standby, and standbys without lag.
#   primary                     prints its number.
#   kill_node N, stop_node N, cut_off N, heal    (and others) cause a failure of a node, and end it.
#   on_node N COMMAND...        runs in its network; sql [PSQL OPTIONS], on the primary.
#
# Node N has the address 10.77.0.1N, a network namespace of its own at a bridge of ours, and a process namespace.
# So it dies as a machine does: all of it, at once. Nothing of it is seen from outside.

readonly pg_bin=/usr/lib/postgresql/15/bin nodes=3 network=10.77.0
# How long a cluster may take for one request, in seconds.
readonly cluster_patience="${HEFT_CLUSTER_PATIENCE:-120}"

if ((EUID == 0)); then
  # PostgreSQL does not run as root.
  readonly pg_user=nobody
  as_server=(setpriv --reuid=nobody "--regid=$(id -g nobody)" --clear-groups)
  in_namespaces=(unshare --net --pid --fork --kill-child --mount-proc)
else
  pg_user="$(id -un)"
  readonly pg_user
  as_server=()
  in_namespaces=(unshare --user --map-current-user --keep-caps --net --pid --fork --kill-child --mount-proc)
fi

cluster_is_installed() {
  local program
  for program in etcd patroni psql "$pg_bin/postgres" ip nsenter unshare setpriv; do
    command -v "$program" >/dev/null || { missing_program="$program" && return 1; }
  done
}

cluster_is_allowed() {
  "${in_namespaces[@]}" sh -c 'ip link add cluster type bridge && ip link add node type veth peer name line' 2>/dev/null
}

own_namespaces() {
  if [[ -n "${HEFT_CLUSTER_WORK:-}" ]]; then
    work="$HEFT_CLUSTER_WORK"
    unset HEFT_CLUSTER_WORK
    trap 'exit 130' INT TERM HUP
    ip link set lo up
    return
  fi
  local inside status=0
  cluster_is_allowed ||
    die "this machine gives no namespaces or no networks in them (unshare --net --pid, ip link): run it as root, or where they are allowed"
  work="$(mktemp -d)"
  # shellcheck disable=SC2064  # that folder
  trap "trap '' INT TERM HUP; rm -rf -- '$work'" EXIT
  chmod 711 "$work"
  HEFT_CLUSTER_WORK="$work" setpriv --pdeathsig KILL \
    "${in_namespaces[@]}" "$BASH" "$0" "$@" <&0 &
  inside=$!
  # With unshare all ends that is in its namespaces, whatever the script waits for.
  # shellcheck disable=SC2064  # that process
  trap "{ kill -KILL $inside; wait $inside || :; } 2>/dev/null; exit 130" INT TERM HUP
  while wait "$inside" || status=$?; kill -0 "$inside" 2>/dev/null; do :; done
  exit "$status"
}

address() { echo "$network.1$1"; }
# holder N: prints the process that keeps the node's network and does nothing else.
holder() { cat "$work/node$1/holder"; }
on_node() { nsenter --net="/proc/$(holder "$1")/ns/net" -- "${@:2}"; }

# A switch with a line to each node.
make_network() {
  local n
  ip link add cluster type bridge
  ip address add "$network.1/24" dev cluster
  ip link set cluster up
  for ((n = 1; n <= nodes; ++n)); do
    mkdir "$work/node$n"
    unshare --net sleep infinity </dev/null >/dev/null 2>&1 &
    echo "$!" >"$work/node$n/holder"
    until [[ "$(readlink "/proc/$!/ns/net")" != "$(readlink /proc/self/ns/net)" ]]; do sleep 0.01; done
    ip link add "node$n" type veth peer name line netns "$!"
    ip link set "node$n" master cluster up
    on_node "$n" ip address add "$(address "$n")/24" dev line
    on_node "$n" ip link set lo up
    on_node "$n" ip link set line up
  done
}

start_etcd() {
  local url="http://$network.1:2379" tries=0
  "${as_server[@]}" setpriv --pdeathsig KILL etcd --enable-v2 --data-dir "$work/etcd" --name one --listen-client-urls "$url" \
    --advertise-client-urls "$url" --listen-peer-urls "http://$network.1:2380" \
    --initial-advertise-peer-urls "http://$network.1:2380" \
    --initial-cluster "one=http://$network.1:2380" </dev/null >"$work/etcd.log" 2>&1 &
  until (exec 3<>"/dev/tcp/$network.1/2379") 2>/dev/null; do
    ((++tries < 300)) || die "etcd does not start: $(tail -n 5 "$work/etcd.log")"
    sleep 0.1
  done
}

# configuration N [SETTING]...: prints Patroni's. Only our own processes are in this network, hence `trust`. The
# folder does not outlive a power cut, hence no fsync. docs/scale.md says what a real cluster needs. It uses etcd's
# older interface, because Debian's Patroni 3.0.2 overwrites another's leader key by the newer one (docs/scale.md).
configuration() {
  local n="$1" here
  here="$(address "$n")"
  shift
  cat <<END
scope: heft
name: node$n
restapi: {listen: '$here:8008', connect_address: '$here:8008'}
etcd: {hosts: '$network.1:2379'}
bootstrap:
  dcs:
    loop_wait: 1
    retry_timeout: 2
    primary_start_timeout: 0
    synchronous_mode: true
    synchronous_mode_strict: true
$(for setting in "$@"; do echo "    $setting"; done)
    postgresql:
      use_pg_rewind: true
      parameters: {max_connections: 60, shared_buffers: 32MB, wal_keep_size: 256MB, max_wal_size: 256MB, fsync: 'off', log_min_messages: log}
  initdb: [{encoding: UTF8}, {locale: C.UTF-8}, data-checksums, no-sync]
postgresql:
  listen: '$here:5432'
  connect_address: '$here:5432'
  data_dir: $work/node$n/data
  bin_dir: $pg_bin
  pgpass: $work/node$n/pgpass
  remove_data_directory_on_rewind_failure: true
  remove_data_directory_on_diverged_timelines: true
  authentication: {superuser: {username: dba}, replication: {username: standby}, rewind: {username: dba}}
  parameters: {unix_socket_directories: $work/node$n}
  pg_hba:
    - local all all trust
    - host all all $network.0/24 trust
    - host replication all $network.0/24 trust
watchdog: {mode: 'off'}
END
}

# A node's Patroni is started again when it ends, as a service manager does, unless the node is down.
keep_node() {
  local n="$1" patroni
  while true; do
    if [[ ! -e "$work/node$n/down" ]]; then
      nsenter --net="/proc/$(holder "$n")/ns/net" -- unshare --pid --fork --kill-child --mount-proc \
        "${as_server[@]}" patroni "$work/node$n/patroni.yml" </dev/null >>"$work/node$n/log" 2>&1 &
      patroni=$!
      echo "$patroni" >"$work/node$n/machine"
      wait "$patroni" || true
    fi
    sleep 0.5
  done
}

# Whether a node's Patroni gets on, by its own answer.
lives() {
  local answer
  exec 3<>"/dev/tcp/$(address "$1")/8008" && printf 'GET /liveness HTTP/1.0\r\n\r\n' >&3 &&
    read -r -t 2 answer <&3 && [[ "$answer" == *" 200 "* ]]
}

# A watchdog resets a node whose Patroni hangs, unless it is us who stopped it. (Patroni 3.0.2 was seen
# to: all of its threads waited for each other, and PostgreSQL stayed as it was.)
watch_node() {
  local n="$1" misses=0
  while sleep 1; do
    if [[ -e "$work/node$n/away" ]] || (lives "$n") 2>/dev/null; then misses=0; else ((++misses)); fi
    if ((misses >= 15)); then
      misses=0
      say "$(date +%T) the watchdog resets node $n"
      kill -KILL "$(first_of "$n")" 2>/dev/null || true
    fi
  done
}

start_cluster() {
  local n
  make_network
  mkdir "$work/etcd"
  for ((n = 1; n <= nodes; ++n)); do
    configuration "$n" "$@" >"$work/node$n/patroni.yml"
  done
  chmod 700 "$work"/{etcd,node?}
  ((EUID != 0)) || chown -R "$pg_user" "$work"/{etcd,node?}
  start_etcd
  for ((n = 1; n <= nodes; ++n)); do
    keep_node "$n" 2>/dev/null &
    watch_node "$n" &
  done
  wait_for_cluster
  psql_on "$(primary)" postgres -c "CREATE ROLE heft LOGIN" -c "CREATE DATABASE heft OWNER heft"
  write_services
}

# pg_service.conf: a service that leads to the current primary.
write_services() {
  local n hosts=()
  for ((n = 1; n <= nodes; ++n)); do hosts+=("$(address "$n")"); done
  export PGSERVICEFILE="$work/pg_service.conf"
  (
    IFS=,
    printf '[gallery]\nhost=%s\ndbname=heft\nuser=heft\ntarget_session_attrs=read-write\nconnect_timeout=3\n' "${hosts[*]}"
  ) >"$PGSERVICEFILE"
}

psql_on() {
  psql --no-psqlrc --quiet --no-align --tuples-only --set ON_ERROR_STOP=1 \
    "host=$(address "$1") user=dba dbname=$2 connect_timeout=2 options='-c statement_timeout=5s'" "${@:3}"
}
sql() { psql --no-psqlrc --quiet --no-align --tuples-only --set ON_ERROR_STOP=1 service=gallery "$@"; }

# primary: prints the number of the node that may commit. A node that is away may think so too, and does not count.
primary() {
  local n
  for ((n = 1; n <= nodes; ++n)); do
    [[ ! -e "$work/node$n/away" ]] || continue
    [[ "$(psql_on "$n" postgres -c "SELECT pg_is_in_recovery()" 2>/dev/null)" != f ]] || { echo "$n" && return; }
  done
  return 1
}

# A primary whose every standby streams, one of them synchronously.
cluster_is_complete() {
  local n
  n="$(primary)" || return
  [[ "$(psql_on "$n" postgres -c "SELECT count(*) = $nodes - 1 AND count(*) FILTER (WHERE sync_state = 'sync') = 1
    AND bool_and(pg_wal_lsn_diff(sent_lsn, replay_lsn) < 1000000) FROM pg_stat_replication
    WHERE state = 'streaming'" 2>/dev/null)" == t ]]
}

# A primary that commits: one synchronous standby receives its changes.
has_standby() {
  local n
  n="$(primary)" || return
  [[ "$(psql_on "$n" postgres -c "SELECT count(*) > 0 FROM pg_stat_replication
    WHERE state = 'streaming' AND sync_state = 'sync'" 2>/dev/null)" == t ]]
}

wait_until() {
  local what="$1" end=$((SECONDS + cluster_patience))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || die "$what takes longer than $cluster_patience s: $(tail -n 3 "$work"/node?/log)"
    sleep 0.2
  done
}
wait_for_cluster() { wait_until "a cluster of a primary and streaming standbys" cluster_is_complete; }
wait_for_primary() { wait_until "another primary" primary; }

# What happens to a node. It is away until it is healed.
#   kill_node: every process of it dies at once, as when its machine loses power, and it stays off.
#   stop_node: none of them gets on, and then all do as if nothing had happened.
#   cut_off:   no other node hears of it.
mark() { touch "$work/node$1/away" "$work/node$1/$2"; }
kill_node() {
  mark "$1" down
  kill -KILL "$(first_of "$1")"
}
# first_of N: the first process of its namespace, with which all of them end.
first_of() {
  local unshare first
  unshare="$(cat "$work/node$1/machine")"
  first="$(cat "/proc/$unshare/task/$unshare/children")"
  echo "${first% }"
}
# all_of N: its processes, who are of a namespace of their own.
all_of() {
  local space process
  space="$(readlink "/proc/$(first_of "$1")/ns/pid")"
  for process in /proc/[0-9]*; do
    [[ "$(readlink "$process/ns/pid" 2>/dev/null)" != "$space" ]] || echo "${process#/proc/}"
  done
}
stop_node() {
  local i
  mark "$1" stopped
  # Twice, for those who were born meanwhile.
  for i in 1 2; do all_of "$1" | xargs --no-run-if-empty kill -STOP 2>/dev/null || true; done
}
# kill_postgres, restart_node: the same, except that Patroni stays, or the node comes back at once.
kill_postgres() {
  nsenter --pid="/proc/$(first_of "$1")/ns/pid" -- kill -KILL "$(head -n 1 "$work/node$1/data/postmaster.pid")"
}
restart_node() { kill -KILL "$(first_of "$1")"; }
cut_off() {
  mark "$1" cut
  ip link set "node$1" down
}
heal() {
  local n
  for ((n = 1; n <= nodes; ++n)); do
    [[ ! -e "$work/node$n/cut" ]] || ip link set "node$n" up
    [[ ! -e "$work/node$n/stopped" ]] || all_of "$n" | xargs --no-run-if-empty kill -CONT 2>/dev/null || true
    rm -f "$work/node$n"/{cut,stopped,down,away}
  done
}
