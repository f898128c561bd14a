#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A gallery that heft-server keeps in PostgreSQL, and the database's own backups: pg_dump into
# another database; pgBackRest to a point between two changes, and to the end of the log. The
# restored gallery is the same by its root, its receipts and its answers. One that went back in time
# does not answer until an operator accepts it; then everyone who was erased since is erased again.
#
#   backups_test.sh BUILD_DIR
set -euo pipefail
here="$(dirname -- "${BASH_SOURCE[0]}")"
source "$here/cluster.sh"
source "$here/world.sh"
command -v pgbackrest >/dev/null || { echo "pgBackRest is not installed: left out"; exit 77; }

start_cluster "$1"
make_owner "$1"
encrypt_files enrolment 0 4 8 12
encrypt_files identification 1 5 9 13
export PGSERVICEFILE="$work/services"
printf '[%s]\nhost=%s\nuser=dba\ndbname=%s\n' people "$work/run" people copy "$work/run" copy \
  >"$PGSERVICEFILE"
sql -c "CREATE DATABASE people"

# The server's files that are in no database.
server_state="$work/server"
server() {
  HEFT_STATE_DIR="$server_state" "$heft_server" "$@" --quiet --gallery "postgres:$service"
}
service=people
keys=(--model "$work/owner/model.heft" --keys "$work/owner/keys/evaluation.keys"
  --trust "$work/owner/keys/trust.heft")
pair_of() { printf -- '--in\n%s\n--in\n%s\n' "$work/client/$1-$2-face.ct" "$work/client/$1-$2-voice.ct"; }

# activate_row ROW: enrols it; the key owner approves it and signs the state shown.
activate_row() {
  local files
  mapfile -t files < <(pair_of enrolment "$1")
  server enrol "${keys[@]}" "${files[@]}" >/dev/null
  sign_state
}
sign_state() {
  server pending "${keys[@]}" --out "$work/pending" >/dev/null
  believe_server
  "$heft" answer --quiet --model "$work/owner/model.heft" --secret-key "$work/owner/keys/secret.key" \
    --in "$work/pending" --out "$work/admission" >/dev/null
  server apply "${keys[@]}" --in "$work/admission" >/dev/null
  rm "$work/pending" "$work/admission"
}
believe_server() {
  local key="$server_state/stores/postgres/$service/server.pub"
  grep -q "$(cut -d' ' -f1 "$key")" "$work/owner/keys/trust.heft" ||
    "$heft" trust add --quiet --trust "$work/owner/keys/trust.heft" --role server --key "$key" \
      --name "$service" >/dev/null
}
# remove_person PERSON: with a receipt, which is kept outside the database.
remove_person() {
  server gallery remove "${keys[@]}" --identity "$1" --receipts "$work/receipts" --json |
    grep -q '"erased": 1' || die "$1 was not erased"
}
# ask ROW: a reply, or an error, in $work/said.
ask() {
  local files
  mapfile -t files < <(pair_of identification "$1")
  rm -f "$work/reply"
  server identify "${keys[@]}" "${files[@]}" --out "$work/reply" >/dev/null 2>"$work/said"
}
# is_found ROW: whether the best candidate for a probe of this row is the person of that row.
is_found() {
  ask "$1" || die "no answer: $(cat "$work/said")"
  decide "$work/reply" >"$work/opened" 2>"$work/said" || die "not opened: $(cat "$work/said")"
  grep -q "\"identity\": \"$(($1 / 4))\"" "$work/opened"
}
expect_found() { for row in "$@"; do is_found "$row" || die "the person of row $row is not found"; done; }
expect_nobody() { for row in "$@"; do ! is_found "$row" || die "the person of row $row is found"; done; }
# note NAME: records the gallery's facts and its erasures, without the disk space of its tables,
# which is smaller in a restored database, and what changes with time or with each search.
note() {
  server gallery stats --json | grep -vE '"(store_bytes|store_free_bytes|key_age_seconds|owner_journal_entry)"' >"$work/info-$1"
  server gallery list --erased --json >"$work/receipts-$1"
}
expect_as_noted() {
  note now
  local what
  for what in info receipts; do
    diff "$work/$what-$1" "$work/$what-now" || die "$2: the gallery is another than at \"$1\""
  done
  server gallery stats --verify --model "$work/owner/model.heft" >/dev/null || die "$2: damaged"
}

# --- The log is archived as in a real installation.
cat >"$work/pgbackrest.conf" <<CONF
[global]
repo1-path=$work/repository
lock-path=$work/backup-locks
spool-path=$work/spool
log-level-file=off
log-level-console=warn
start-fast=y
process-max=1
archive-timeout=120
[people]
pg1-path=$work/data
pg1-socket-path=$work/run
pg1-user=dba
CONF
folder_of_server() {
  mkdir -m 700 "$@"
  [[ "$pg_user" != nobody ]] || chown nobody "$@"
}
folder_of_server "$work/repository" "$work/backup-locks" "$work/spool"
backrest() {
  (cd / && as_server pgbackrest --config="$work/pgbackrest.conf" --stanza=people "$@") >"$work/backrest.log" 2>&1 ||
    die "pgbackrest $*: $(cat "$work/backrest.log")"
}
restart() {  # DATA: a server on another folder
  kill -INT "$server" && { wait "$server" || true; }
  start_server_on "$1" "${@:2}"
}
archive="pgbackrest --config=$work/pgbackrest.conf --stanza=people archive-push %p"
restart "$work/data" -c archive_mode=on -c "archive_command=$archive"
backrest stanza-create

# --- A full backup, and then changes: enrolment, admission, removal, a checkpoint.
activate_row 0
activate_row 4
backrest backup --type=full
activate_row 8
remove_person 0
server gallery compact "${keys[@]}" >/dev/null
note between
sql -c "SELECT pg_create_restore_point('between')" >/dev/null
activate_row 12
remove_person 1
sign_state
note end
expect_found 9 13
expect_nobody 1 5

# --- pg_dump: everything except the server's own folder; a copy of that is used.
"$pg_bin/pg_dump" -Fc -f "$work/dump" people
sql -c "CREATE DATABASE copy"
"$pg_bin/pg_restore" --exit-on-error -d copy "$work/dump" >"$work/restore.log" 2>&1 ||
  die "pg_restore: $(cat "$work/restore.log")"
cp -R "$server_state/stores/postgres/people" "$server_state/stores/postgres/copy"
rm -rf "$server_state/stores/postgres/copy/blobs"
service=copy
expect_as_noted end "pg_restore"
expect_found 9 13
expect_nobody 1 5
service=people
sql -c "DROP DATABASE copy"

# --- To the end of the log: nothing differs.
backrest check
restore_to() {  # FOLDER OPTION...
  kill -INT "$server" 2>/dev/null && { wait "$server" || true; }
  folder_of_server "$work/$1"
  backrest restore --pg1-path="$work/$1" --archive-mode=off "${@:2}"
  start_server_on "$work/$1"
  local tries=0
  until [[ "$(sql -c "SELECT pg_is_in_recovery()")" == f ]]; do
    ((++tries < 600)) || die "the restored database does not come up: $(tail -n 20 "$work/log")"
    sleep 0.1
  done
}
restore_to to-the-end
expect_as_noted end "to the end"
expect_found 9 13
expect_nobody 1 5

# --- To the point between: the gallery of that time, which neither answers nor enrols.
restore_to to-between --type=name --target=between --target-action=promote
expect_as_noted between "to a point"
refused() { grep -q "$1" "$work/said" || die "refused, but not so: $(cat "$work/said")"; }
ask 9 && die "a gallery that was set back answers"
refused "went back to an earlier state"
[[ ! -f "$work/reply" ]] || die "refused, and there is a reply"
mapfile -t files < <(pair_of enrolment 12)
server enrol "${keys[@]}" "${files[@]}" 2>"$work/said" && die "a gallery that was set back takes people"
refused "went back to an earlier state"
server gallery remove "${keys[@]}" --identity 2 2>"$work/said" && die "somebody is removed from it"
expect_as_noted between "after refusals"
# A server without remembered generations answers. The key owner has signed a later state, so it
# does not open the reply.
forgetful="$work/forgetful"
mkdir -m 700 "$forgetful"
cp -R "$server_state/stores" "$forgetful/stores"
server_state="$forgetful" ask 9 || die "no answer: $(cat "$work/said")"
decide "$work/reply" >/dev/null 2>"$work/said" && die "the key owner opens a reply of the past"
refused older

# --- The operator accepts the older state; everyone who was erased since is erased first.
server gallery restore 2>"$work/said" && die "an older state is taken without a word"
refused "accept-older"
mv "$server_state/stores/postgres/people/receipts" "$work/kept"
server gallery restore --accept-older "${keys[@]}" 2>"$work/said" && die "taken, and nobody knows who was erased"
refused "receipts none"
expect_as_noted between "after refusals"
mv "$work/kept" "$server_state/stores/postgres/people/receipts"
server gallery restore --accept-older "${keys[@]}" --json >"$work/taken"
grep -q '"erased": 1' "$work/taken" || die "erased again: $(cat "$work/taken")"
expect_found 9
expect_nobody 1 5 13
server gallery stats --verify --model "$work/owner/model.heft" >/dev/null || die "damaged"
# It continues: people who came since are enrolled again, with samples that are new to it.
activate_row 12
expect_found 9 13
expect_nobody 1 5
echo "backups_test: as it should be"
