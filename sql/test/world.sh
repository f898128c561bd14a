#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# For tests, to source after cluster.sh: a key owner and a client, played by the real programs, and
# their files in the database, table world.files, for use in SQL.
#
#   make_owner BUILD [PROFILE]   $work/owner: model, keys, trust; with "wide" the model has 1,024
#                                dimensions, and its profile is standard
#   make_world BUILD [PROFILE]   the same, the extension, world.files
#   encrypt_files USE ROW...     of both modalities: $work/client/USE-ROW-MODALITY.ct
#   encrypt USE ROW...           the same, and world.files has them as USE-ROW-MODALITY
#   make_gallery NAME TENANT     in the database
#   enrol NAME ROW...            rows that are encrypted
#   activate NAME                   the key owner's part in it
#   identify NAME ROW OUT        a reply, by psql, into a file
#   decide IN [RULE...]          what the key owner reads in it: scores, or by a rule a decision

make_owner() {
  heft="$1/cli/heft"
  heft_server="$1/cli/heft-server"
  export HEFT_STATE_DIR="$work/owner/state"
  mkdir -p "$work/owner" "$work/client"
  chmod 700 "$work/owner" "$work/client"
  if [[ "${2:-}" == wide ]]; then
    make_wide_model
  else
    make_model "${2:-standard}"
  fi
  "$heft" keygen --quiet --model "$work/owner/model.heft" --out "$work/owner/keys" --no-passphrase \
    >/dev/null
  "$heft" budget --quiet --model "$work/owner/model.heft" --secret-key "$work/owner/keys/secret.key" \
    --set scores=1000000 decisions=1000000 rejections=1000000 client-bits=1000000000 >/dev/null
}

make_model() {
  "$heft" synth --quiet --out "$work/samples" --identities 30 --samples 4 --dimensions 24 16 --jitter 1 >/dev/null
  "$heft" train --quiet --data "$work/samples" --out "$work/owner/model.heft" --gamma 16 --epochs 3 \
    --no-exact --profile "$1" >/dev/null
}

make_wide_model() {
  "$heft" synth --quiet --out "$work/samples" --identities 30 --samples 4 --dimensions 272 256 \
    --jitter 0.1 0.1 --within 0.3 0.3 --noise 0.3 0.3 >/dev/null
  "$heft" train --quiet --data "$work/samples" --out "$work/untrained.heft" --method none >/dev/null
  "$heft" calibrate --quiet --data "$work/samples" --model "$work/untrained.heft" \
    --out "$work/owner/model.heft" >/dev/null
}

make_world() {
  make_owner "$@"
  sql -c "CREATE EXTENSION heft" -c "CREATE SCHEMA world" \
    -c "CREATE TABLE world.files (name text PRIMARY KEY, bytes bytea)" \
    -c "GRANT USAGE ON SCHEMA world TO PUBLIC" -c "GRANT SELECT ON world.files TO PUBLIC"
  bring model "$work/owner/model.heft"
  bring evaluation "$work/owner/keys/evaluation.keys"
  [[ ! -f "$work/owner/keys/enrolment.keys" ]] || bring enrolment "$work/owner/keys/enrolment.keys"
  bring trust "$work/owner/keys/trust.heft"
}

# bring NAME FILE...: files as values, through psql alone: no file of the server's is read.
bring() {
  while (($# > 1)); do
    printf '\\lo_import %s\n\\set file :LASTOID\n' "$2"
    printf "DELETE FROM world.files WHERE name = '%s';\n" "$1"
    printf "INSERT INTO world.files VALUES ('%s', lo_get(:file));\n\\lo_unlink :file\n" "$1"
    shift 2
  done | sql >/dev/null
}

encrypt_files() {
  local use="$1" row modality
  for row in "${@:2}"; do
    for modality in face voice; do
      "$heft" encrypt --quiet --model "$work/owner/model.heft" --row "$row" --for "$use" \
        --key "$work/owner/keys/encryption.key" --modality "$modality" --labels "$work/samples/labels.txt" \
        --in "$work/samples/$modality.npy" --out "$work/client/$use-$row-$modality.ct" >/dev/null
    done
  done
}

encrypt() {
  local use="$1" row modality files=()
  encrypt_files "$@"
  for row in "${@:2}"; do
    for modality in face voice; do
      files+=("$use-$row-$modality" "$work/client/$use-$row-$modality.ct")
    done
  done
  bring "${files[@]}"
}

# file NAME, pair USE ROW: SQL for them.
file() { printf "(SELECT bytes FROM world.files WHERE name = '%s')" "$1"; }
pair() { printf 'ARRAY[%s, %s]' "$(file "$1-$2-face")" "$(file "$1-$2-voice")"; }

make_gallery() {
  sql -c "SELECT heft.heft_create_gallery('$1', $(file model), $(file evaluation),
    convert_from($(file trust), 'UTF8'), $(file enrolment), '$2')" >/dev/null
}

enrol() {
  local row
  for row in "${@:2}"; do
    sql -c "SELECT brought FROM heft.heft_enrol('$1', $(pair enrolment "$row"))" >/dev/null
  done
}

# value_of FILE QUERY: bytes, into a file.
value_of() { sql -c "SELECT encode(($2), 'base64')" | base64 -d >"$1"; }

believe() {
  local key
  key="$(sql -c "SELECT heft.heft_server_key('$1')")"
  grep -q "$key" "$work/owner/keys/trust.heft" && return
  echo "$key server" >"$work/server.pub"
  "$heft" trust add --quiet --trust "$work/owner/keys/trust.heft" --role server \
    --key "$work/server.pub" --name "$PGDATABASE-$1" >/dev/null
}

activate() {
  value_of "$work/pending" "heft.heft_pending('$1')"
  believe "$1"
  "$heft" answer --quiet --model "$work/owner/model.heft" --secret-key "$work/owner/keys/secret.key" \
    --in "$work/pending" --out "$work/admission" >/dev/null
  bring admission "$work/admission"
  sql -c "SELECT activated FROM heft.heft_activate('$1', $(file admission))"
  rm "$work/pending" "$work/admission"
}

identify() { value_of "$3" "heft.heft_identify('$1', $(pair identification "$2"))"; }

# gallery_of REPLY: its id. Several galleries share the key, so a decision names one.
gallery_of() { "$heft" inspect --json "$1" | sed -n 's/^ *"gallery": "\([0-9a-f]*\)",*$/\1/p'; }
decide() {
  local how=("${@:2}")
  (($# > 1)) || how=(--scores)
  how+=(--gallery-id "$(gallery_of "$1")")
  "$heft" decrypt --json --quiet --model "$work/owner/model.heft" \
    --secret-key "$work/owner/keys/secret.key" --in "$1" "${how[@]}"
}
