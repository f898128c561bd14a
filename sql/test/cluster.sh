#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# For tests, to source: a temporary PostgreSQL in its own folder, on a socket in it, with the built
# extension, which is not installed. It ends with this shell in any case.
#
#   start_cluster BUILD_DIR    sets $work, $PGHOST, $PGUSER (superuser), $PGDATABASE, $state
#   sql [PSQL OPTIONS]         psql, which stops at errors
#   as ROLE [PSQL OPTIONS]     the same as another role

readonly pg_bin=/usr/lib/postgresql/15/bin
# as_server COMMAND...: replaces this shell, so call it in ( ... ). The server does not run as root.
if ((EUID == 0)); then
  readonly pg_user=nobody
  as_server() { exec setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups --pdeathsig QUIT -- "$@"; }
else
  pg_user="$(id -un)"
  readonly pg_user
  as_server() { exec setpriv --pdeathsig QUIT -- "$@"; }
fi

die() {
  printf '%s\n' "$*" >&2
  exit 1
}

sql() { psql --no-psqlrc --quiet --no-align --tuples-only --set ON_ERROR_STOP=1 "$@"; }
as() {
  local role="$1"
  shift
  PGOPTIONS="-c role=$role" sql "$@"
}

stop_cluster() {
  [[ -z "${server:-}" ]] || kill -INT "$server" 2>/dev/null || true
  [[ -z "${server:-}" ]] || wait "$server" 2>/dev/null || true
  [[ -z "${work:-}" ]] || rm -rf -- "$work"
}

wait_for_server() {
  local tries=0
  until "$pg_bin/pg_isready" --quiet; do
    kill -0 "$server" 2>/dev/null || die "the server does not start: $(tail -n 20 "$work/log")"
    ((++tries < 600)) || die "the server does not answer"
    sleep 0.1
  done
}

start_server() { start_server_on "$work/data" "$@"; }
start_server_on() {
  as_server "$pg_bin/postgres" -D "$1" -c listen_addresses= \
    -c unix_socket_directories="$work/run" -c fsync="${fsync:-off}" -c autovacuum=off \
    -c shared_buffers="${shared_buffers:-32MB}" -c max_connections=20 \
    -c extension_destdir="$work/destination" -c "heft.state_directory=$state" \
    -c shared_preload_libraries= "${@:2}" >>"$work/log" 2>&1 &
  server=$!
  wait_for_server
}

start_cluster() {
  local build="$1"
  [[ -x "$pg_bin/initdb" ]] || { echo "PostgreSQL 15 is not installed: left out"; exit 77; }
  work="$(mktemp -d)"
  trap stop_cluster EXIT
  chmod 711 "$work"
  state="$work/state"
  mkdir "$work/data" "$work/run" "$state" "$work/destination"
  chmod 700 "$work/data" "$state"
  [[ "$pg_user" != nobody ]] || chown nobody "$work/data" "$work/run" "$state"
  DESTDIR="$work/destination" cmake --install "$build" --component postgres >"$work/install.log" ||
    die "$(cat "$work/install.log")"
  export PGHOST="$work/run" PGUSER=dba PGDATABASE=postgres
  unset PGPORT PGOPTIONS PGSERVICE PGPASSWORD
  (as_server "$pg_bin/initdb" -D "$work/data" -U dba -A trust --no-sync -E UTF8 \
    --locale=C.UTF-8) >"$work/initdb.log" 2>&1 || die "$(cat "$work/initdb.log")"
  start_server
}
