#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Calls that are stopped, killed, starved and fed with rubbish: the backend lives (unless it was
# killed), the gallery is as before or as it should be, and the next call works.
#
#   attacks_test.sh BUILD_DIR
set -euo pipefail
here="$(dirname -- "${BASH_SOURCE[0]}")"
source "$here/cluster.sh"
source "$here/world.sh"

start_cluster "$1"
make_world "$1"
rows="$(seq 0 4 100)"
# shellcheck disable=SC2086
{ encrypt enrolment $rows; encrypt identification 5; }
make_gallery main dba
enrol main 0 4 8
activate main >/dev/null
readonly probe="heft.heft_identify('main', $(pair identification 5))"
number() { sql -c "SELECT $1 FROM heft.heft_stats('main')"; }
answers() { [[ "$(sql -c "SELECT length($probe) > 1000")" == t ]] || die "it does not answer any more: $1"; }
server_lives() { ! grep -qE "terminated by signal|PANIC|reference leak|leaked" "$work/log" || die "$1: $(tail -n 20 "$work/log")"; }

# --- Rubbish: files cut and flipped at many places, in one session that answers all of it.
sql >"$work/rubbish" <<SQL
CREATE FUNCTION pg_temp.try(call text, VARIADIC bytea[]) RETURNS text LANGUAGE plpgsql AS \$\$
DECLARE r text;
BEGIN
  EXECUTE call INTO r USING \$2[1], \$2[2];
  RETURN 'taken';
EXCEPTION WHEN invalid_binary_representation OR object_not_in_prerequisite_state
    OR invalid_parameter_value THEN
  RETURN 'refused';
END \$\$;
SELECT setseed(0.5) \g /dev/null
WITH f AS (SELECT name, bytes, length(bytes) AS n FROM world.files
           WHERE name IN ('enrolment-12-face', 'identification-5-face', 'admission')),
  broken AS (
    SELECT substr(bytes, 1, (random() * (n - 1))::int) AS b FROM f, generate_series(1, 40)
    UNION ALL SELECT set_byte(bytes, p, (get_byte(bytes, p) + 1 + (random() * 254)::int) % 256)
      FROM f, LATERAL (SELECT (random() ^ 3 * (n - 1))::int AS p, g FROM generate_series(1, 40) g) places
    UNION ALL SELECT bytes || substr(bytes, 1, 100) FROM f)
SELECT pg_temp.try(call, b, (SELECT bytes FROM world.files WHERE name = 'enrolment-12-voice')), count(*)
FROM broken, unnest(ARRAY['SELECT heft.heft_enrol(''main'', ARRAY[\$1, \$2])',
  'SELECT heft.heft_identify(''main'', ARRAY[\$1, \$2])',
  'SELECT heft.heft_verify(''main'', ''0'', ARRAY[\$1, \$2])',
  'SELECT heft.heft_activate(''main'', \$1)']) call GROUP BY 1;
-- Many files, files of the wrong ring, one twice.
SELECT pg_temp.try('SELECT heft.heft_identify(''main'', array_fill(\$1, ARRAY[2000]))',
  $(file identification-5-face));
SELECT pg_temp.try('SELECT heft.heft_identify(''main'', ARRAY[\$1, \$2])',
  $(file identification-5-face), $(file enrolment-0-voice));
SELECT pg_temp.try('SELECT heft.heft_enrol(''main'', ARRAY[\$1, \$1])', $(file enrolment-12-face));
SQL
[[ "$(sort "$work/rubbish" | uniq -c | tr -s ' \n' ' ')" == " 3 refused 1 refused|972 " ]] ||
  die "rubbish was taken: $(cat "$work/rubbish")"
server_lives rubbish
answers rubbish

# --- Stopped by statement_timeout, wherever that is: an answer or a clear end, and nothing half done.
ends=0
for ((i = 1; i <= 40; ++i)); do
  sql -c "SET statement_timeout = $((i * 3))" -c "SELECT length($probe) FROM generate_series(1, 20)" \
    >/dev/null 2>"$work/error" || { grep -q "statement timeout" "$work/error" || die "$(cat "$work/error")"; ((++ends)); }
done
((ends > 0)) || die "no identification was stopped"
# A session whose keys are loaded, an enrolment that is stopped in it, and again until it is through.
for row in 12 16 20; do
  {
    echo "SELECT length($probe) \\g /dev/null"
    for ((i = 1; i <= 25; ++i)); do
      echo "SET statement_timeout = $((i * 20));"
      echo "SELECT brought FROM heft.heft_enrol('main', $(pair enrolment "$row"));"
    done
  } | psql --no-psqlrc -qAt 2>"$work/error" >"$work/out"
  grep -vE "statement timeout|enrolled before|waits in|already|^LINE|^HINT|^CONTEXT|^DETAIL" "$work/error" | grep -q ERROR &&
    die "$(cat "$work/error")"
  [[ "$(cat "$work/out")" == 1 ]] || die "not enrolled once: $(cat "$work/out" "$work/error")"
done
[[ "$(number pending)" == 3 ]] || die "$(number pending) wait, not 3"
server_lives timeouts
answers timeouts

# --- pg_cancel_backend and pg_terminate_backend, in the middle of a call.
stop_with() {
  local function="$1" call="$2" tries
  PGAPPNAME=victim sql -c "$call" >/dev/null 2>"$work/error" &
  local client=$!
  for ((tries = 0; tries < 200; ++tries)); do
    [[ "$(sql -c "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'victim' AND state = 'active'")" == 0 ]] || break
    sleep 0.01
  done
  sleep "0.0$((RANDOM % 90 + 10))"
  sql -c "SELECT $function(pid) FROM pg_stat_activity WHERE application_name = 'victim'" >/dev/null
  wait "$client" && return 0
  grep -qE "user request|administrator command|enrolled before|connection to server was lost|server closed" "$work/error" || die "$(cat "$work/error")"
}
for ((i = 0; i < 6; ++i)); do
  stop_with pg_cancel_backend "SELECT length($probe) FROM generate_series(1, 500)"
  stop_with pg_terminate_backend "SELECT length($probe) FROM generate_series(1, 500)"
  stop_with pg_terminate_backend "SELECT heft.heft_enrol('main', $(pair enrolment 24))"
done
server_lives "cancelled and terminated"
answers "cancelled and terminated"

# --- No memory: the backend may use little more address space than it has.
{
  echo '#!/usr/bin/env bash'
  declare -f as_server
  # shellcheck disable=SC2016
  echo 'as_server prlimit --pid "$1" --as="$2":'
} >"$work/limit"
chmod +x "$work/limit"
sql >"$work/starved" 2>&1 <<SQL || true
\set ON_ERROR_STOP 0
SELECT length($probe) \g /dev/null
SELECT pg_backend_pid() AS pid \gset
\setenv VICTIM :pid
\! $work/limit \$VICTIM \$((\$(awk '/VmSize/ {print \$2}' /proc/\$VICTIM/status) * 1024 + 200000))
SELECT length($probe) FROM generate_series(1, 3) \g /dev/null
SELECT brought FROM heft.heft_enrol('main', $(pair enrolment 28)) \g /dev/null
\! $work/limit \$VICTIM unlimited
SELECT 'same', pg_backend_pid() = :pid, length($probe) > 1000;
SQL
grep -qx "same|t|t" "$work/starved" || die "starved: $(cat "$work/starved")"
grep -q "memory" "$work/starved" || die "it was not starved: $(cat "$work/starved")"
server_lives starved

# --- kill -9 in an enrolment: the server starts anew, and the enrolment is there or it is not.
kills=0
readonly lock=1212499540  # "HEFT"
for row in 32 36 40 44 48 52; do
  before="$(number pending)"
  # The first waits for the store's lock when it is killed, the others are anywhere.
  blocker=""
  if ((row == 32)); then
    sql -c "SELECT pg_advisory_lock($lock, 1)" -c "SELECT pg_sleep(120)" >/dev/null 2>&1 &
    blocker=$!
    until [[ "$(sql -c "SELECT count(*) FROM pg_locks WHERE classid = $lock AND granted")" == 1 ]]; do sleep 0.05; done
  fi
  PGAPPNAME=victim sql -c "SELECT length($probe)" \
    -c "SELECT heft.heft_enrol('main', $(pair enrolment "$row"))" >/dev/null 2>&1 &
  client=$!
  for ((tries = 0; tries < 400; ++tries)); do
    pid="$(sql -c "SELECT pid FROM pg_stat_activity WHERE application_name = 'victim' AND query LIKE '%heft_enrol%'
      AND (${blocker:-0} = 0 OR wait_event_type = 'Lock')")"
    [[ -z "$pid" ]] || break
    sleep 0.01
  done
  [[ -n "$blocker" ]] || sleep "0.$((RANDOM % 200))"
  [[ -z "$pid" ]] || ! kill -9 "$pid" 2>/dev/null || ((++kills))
  wait "$client" || true
  [[ -z "$blocker" ]] || wait "$blocker" || true
  wait_for_server
  after="$(number pending)"
  ((after == before || after == before + 1)) || die "pending: $before, then $after"
  if ((after == before)); then enrol main "$row"; fi
  [[ "$(number pending)" == $((before + 1)) ]] || die "enrolled after the kill, and it does not wait"
done
((kills > 0)) || die "nobody was killed"
answers killed

# --- Two sessions that enrol at once: both, one after the other; and what waits too long says so.
enrol main 60 & first=$!
enrol main 64 & second=$!
wait "$first" "$second"
sql -c "BEGIN" -c "SELECT heft.heft_enrol('main', $(pair enrolment 68))" -c "SELECT pg_sleep(3)" -c "COMMIT" >/dev/null &
first=$!
sleep 1.5
sql -c "SET heft.writer_wait = 1" -c "SELECT heft.heft_enrol('main', $(pair enrolment 72))" 2>"$work/error" &&
  die "two wrote at once"
grep -q "lock timeout" "$work/error" || die "$(cat "$work/error")"
wait "$first"
# A query sees one state: a repeatable read does not overwrite changes that it has not seen.
pending="$(number pending)"
{
  echo "BEGIN ISOLATION LEVEL REPEATABLE READ;"
  echo "SELECT pending FROM heft.heft_stats('main');"
  echo "\\! PGAPPNAME=other psql --no-psqlrc -qAtc \"SELECT heft.heft_enrol('main', $(pair enrolment 76))\" >/dev/null"
  echo "SELECT pending FROM heft.heft_stats('main');"
  echo "SELECT heft.heft_enrol('main', $(pair enrolment 80));"
} | psql --no-psqlrc -qAt >"$work/out" 2>"$work/error"
[[ "$(tr '\n' ' ' <"$work/out")" == "$pending $pending " ]] || die "not one state: $(cat "$work/out")"
grep -q "could not serialize" "$work/error" || die "written over what was not seen: $(cat "$work/error")"
answers "all of it"
echo "attacks_test: held; $ends calls ended by their timeouts, $kills backends killed"
