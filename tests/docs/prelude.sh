# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Functions for the code blocks of the site's pages: run_page.py sources this file before them.
set -euo pipefail

# made_data FOLDER [SYNTH_OPTION]...: few synthetic people, so that training takes a second.
made_data() {
  local folder="$1"
  shift
  (($# > 0)) || set -- --identities 40 --samples 6 --dimensions 64 48
  heft synth --quiet --out "$folder" --jitter 0.3 0.3 "$@" >/dev/null
}

# made_model FOLDER MODEL [TRAIN_OPTION]...: a quickly trained model with gamma 16.
made_model() {
  heft train --quiet --data "$1" --gamma 16 --epochs 2 --no-exact --out "$2" "${@:3}" >/dev/null
}

# made_keys: makes DATA, model.heft and its keys; copies the public keys beside the model.
made_keys() {
  made_data DATA
  made_model DATA model.heft
  heft keygen --quiet --model model.heft --no-passphrase --out keys >/dev/null
  cp keys/{encryption.key,evaluation.keys,enrolment.keys,trust.heft} .
}

# sample USE ROW: writes face.ct and voice.ct of a row of DATA.
sample() {
  local modality
  for modality in face voice; do
    heft encrypt --quiet --model model.heft --key encryption.key --modality "$modality" --in "DATA/$modality.npy" \
      --labels DATA/labels.txt --row "$2" --for "$1" --out "$modality.ct" >/dev/null
  done
}

# activated: activates all pending templates of gallery with the keys of made_keys.
activated() {
  heft trust add --trust keys/trust.heft --role server --key gallery/server.pub >/dev/null
  heft-server pending --quiet --model model.heft --keys evaluation.keys --gallery gallery --out .pending
  heft answer --quiet --model model.heft --secret-key keys/secret.key --in .pending --out .admission
  heft-server apply --quiet --model model.heft --keys evaluation.keys --gallery gallery --in .admission
}

# bobs_lists DATA FOLDER: writes names of the rows of DATA, six of each person, and a protocol in
# bob.bio's format over them.
bobs_lists() {
  local group from to person row
  seq -f 'row-%g' 0 "$(($(wc -l <"$1/labels.txt") - 1))" >"$1/names.txt"
  for group in dev:0:12 eval:12:24; do
    IFS=: read -r group from to <<<"$group"
    mkdir -p "$2/$group"
    for list in enrolling probing; do echo path,template_id,subject_id >"$2/$group/for_$list.csv"; done
    for ((person = from; person < to; ++person)); do
      echo "row-$((6 * person)),template-$person,$person" >>"$2/$group/for_enrolling.csv"
      for row in 1 2; do echo "row-$((6 * person + row)),probe-$person-$row,$person"; done >>"$2/$group/for_probing.csv"
    done
  done
}

# rows IN.npy OUT.npy ROW...: copies some vectors of a file.
rows() {
  /usr/bin/python3 - "$@" <<'PYTHON'
import ast, sys
source, out, rows = sys.argv[1], sys.argv[2], [int(row) for row in sys.argv[3:]]
data = open(source, "rb").read()
end = 10 + int.from_bytes(data[8:10], "little")
header = ast.literal_eval(data[10:end].decode())
size = int(header["descr"][2:]) * header["shape"][1]
header["shape"] = (len(rows), header["shape"][1])
text = repr(header).encode()
text += b" " * (-(len(text) + 11) % 64) + b"\n"
with open(out, "wb") as file:
    file.write(data[:8] + len(text).to_bytes(2, "little") + text)
    file.writelines(data[end + row * size:end + (row + 1) * size] for row in rows)
PYTHON
}

# run_sql FILE: runs a block of SQL in the database that the environment names; :state is $state.
run_sql() {
  psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --set state="${state:-}" --file "$1"
}

# run_cmake FILE: runs a block of CMake as the project that its "before" and "after" make of it.
run_cmake() {
  local folder
  folder="$(mktemp -d -p .)"
  mv "$1" "$folder/CMakeLists.txt"
  "$HEFT_CMAKE" -S "$folder" -B "$folder/build" >"$folder/log" 2>&1 ||
    { cat "$folder/log"; exit 1; }
}

# a_test_runs PROGRAM ARGUMENT...: replaces a command that takes minutes: checks that a test of the
# build runs it with these flags.
a_test_runs() {
  "$(dirname "$HEFT_CMAKE")/ctest" --test-dir "$HEFT_SANDBOX/.ctest" --show-only=json-v1 >"$HEFT_SANDBOX/.tests"
  /usr/bin/python3 - "$HEFT_SANDBOX/.tests" "$@" <<'PYTHON'
import json, os, sys
program, flags = os.path.realpath(sys.argv[2]), {word for word in sys.argv[3:] if word.startswith("--")}
commands = [test.get("command", []) for test in json.load(open(sys.argv[1]))["tests"]]
if not any(command and os.path.realpath(command[0]) == program and flags <= set(command) for command in commands):
    sys.exit(f"no test runs {' '.join(sys.argv[2:])}")
PYTHON
}

# takes PROGRAM [SUBCOMMAND]... FLAG [VALUE]...: replaces a command that takes minutes: checks that
# its --help has these flags.
takes() {
  local command=("$1") said word
  while shift && (($# > 0)) && [[ "$1" != -* ]]; do command+=("$1"); done
  said="$("${command[@]}" --help)"
  for word in "$@"; do
    [[ "$word" != -* ]] || grep -qE -e "(^|[ ,])$word( |,|\$)" <<<"$said" || { echo "${command[*]} --help has no $word"; exit 1; }
  done
}

# has TEXT FILE...: checks that a line contains the text.
has() {
  grep -qF -e "$1" "${@:2}" || { echo "no \"$1\" in ${*:2}"; exit 1; }
}
