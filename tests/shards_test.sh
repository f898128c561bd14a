#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A gallery in buckets with the real programs: created, enrolled into, and searched over all
# buckets; activated and decided by an owner who has the shard list. An incomplete set of replies is
# refused. Then each person is searched among all (examples/deduplicate.cc), and both halves are
# killed meanwhile.
#
#   tests/shards_test.sh HEFT HEFT_SERVER DEDUPLICATE
set -euo pipefail
heft="$1" server="$2" deduplicate="$3"
work="$(mktemp -d)"
finish() {
  local left
  left="$(jobs -p)"
  if [[ -n "$left" ]]; then xargs kill -9 <<<"$left" 2>/dev/null || true; fi
  rm -rf -- "$work"
}
trap finish EXIT
export HEFT_STATE_DIR="$work/state"
cd "$work"
fail() {
  printf 'shards_test: %s\n' "$*" >&2
  exit 1
}
# Runs a command that must be refused for this reason.
refused() {
  local why="$1" said
  shift
  if said="$("$@" 2>&1)"; then fail "not refused: $*"; fi
  [[ "$said" == *"$why"* ]] || fail "refused, but not for \"$why\": $said"
}

# pick OUT LABEL... -- ROW...: rows of the data set as a client has them, a file for each modality
# in OUT.
pick() {
  python3 - "$@" <<'PYTHON'
import ast, pathlib, sys

out, rest = pathlib.Path(sys.argv[1]), sys.argv[2:]
labels, rows = rest[: rest.index("--")], [int(r) for r in rest[rest.index("--") + 1 :]]
out.mkdir(parents=True)
for file in sorted(pathlib.Path("data").glob("*.npy")):
    raw = file.read_bytes()
    start = 10 + int.from_bytes(raw[8:10], "little")  # version 1 of the format
    head = ast.literal_eval(raw[10:start].decode())
    size = head["shape"][1] * int(head["descr"][-1])
    head["shape"] = (len(rows), head["shape"][1])
    text = repr(head).encode()
    text += b" " * (-(10 + len(text) + 1) % 64) + b"\n"
    body = b"".join(raw[start + r * size : start + (r + 1) * size] for r in rows)
    (out / file.name).write_bytes(raw[:8] + len(text).to_bytes(2, "little") + text + body)
(out / "labels.txt").write_text("".join(label + "\n" for label in labels))
PYTHON
}
# encrypt FROM TO USE: encrypts the files of pick.
encrypt() {
  mkdir -p "$2"
  for npy in "$1"/*.npy; do
    "$heft" encrypt --quiet --model model.heft --key keys/encryption.key --trust keys/trust.heft \
      --modality "$(basename "$npy" .npy)" --in "$npy" --labels "$1/labels.txt" --for "$3" \
      --out "$2/$(basename "$npy" .npy).ct" >/dev/null
  done
}
samples() { printf -- '--in\n%s\n' "$1"/*.ct; }

"$heft" synth --quiet --out data --identities 80 --samples 4 --dimensions 48 32 --jitter 0.2 0.2 >/dev/null
"$heft" train --quiet --data data --gamma 16 --no-exact --epochs 5 --out model.heft >/dev/null
"$heft" keygen --quiet --model model.heft --no-passphrase --out keys >/dev/null
"$heft" budget --model model.heft --secret-key keys/secret.key --set scores=1000 \
  --set decisions=100000 rejections=100000 client-bits=1000000 >/dev/null
mapfile -t name < <(awk 'NR % 4 == 1' data/labels.txt) # of person i, whose rows are 4 i to 4 i + 3
matcher=(--quiet --model model.heft --keys keys/evaluation.keys)
all=("${matcher[@]}" --gallery store:people --shards people.shards)
owner=(--quiet --model model.heft --secret-key keys/secret.key)
whole=("${owner[@]}" --shards people.shards)

"$server" gallery create "${matcher[@]}" --gallery store:people --buckets 4 --shards people.shards >/dev/null
refused "another number of buckets" "$server" gallery create "${matcher[@]}" --gallery store:people --buckets 2 \
  --shards other.shards
"$heft" trust add --trust keys/trust.heft --role server --key store/server.pub >/dev/null

# 24 people, and the sixth of them again under another name.
people=() rows=()
for i in {0..23}; do people+=("${name[i]}") rows+=("$((4 * i))"); done
pick enrolled "${people[@]}" twin -- "${rows[@]}" 22
encrypt enrolled brought enrolment
mapfile -t in < <(samples brought)
"$server" enrol "${all[@]}" "${in[@]}" >/dev/null
"$server" enrol "${all[@]}" "${in[@]}" | grep -q "already answered" || fail "the same people came twice"
activate() { # BUCKET
  "$server" pending "${matcher[@]}" --gallery "store:people.00$1" --out pending.ct >/dev/null
  "$heft" answer "${whole[@]}" --in pending.ct --out admission.heft
  "$server" apply "${matcher[@]}" --gallery "store:people.00$1" --in admission.heft >/dev/null
}
for b in 0 1 2 3; do activate "$b" >/dev/null; done

ask() { # ROW OUT
  pick "row-$2" "${name[$1 / 4]}" -- "$1"
  encrypt "row-$2" "probe-$2" identification
  mapfile -t in < <(samples "probe-$2")
  "$server" identify "${all[@]}" "${in[@]}" --out "$2" >/dev/null
}
ask 13 third
ask 17 fourth
refused "no reply of 2" "$heft" decrypt --scores "${whole[@]}" --in third/000.ct third/001.ct third/003.ct
refused "a second reply of bucket 1" "$heft" decrypt --scores "${whole[@]}" --in third/00[0123].ct third/001.ct
refused "a second reply of bucket 1" "$heft" decrypt --scores "${whole[@]}" --in third/00[013].ct fourth/001.ct
refused "answers another request" "$heft" decrypt --scores "${whole[@]}" --in third/00[013].ct fourth/002.ct
refused "several replies need --shards" "$heft" decrypt --scores "${owner[@]}" --in third/*.ct
sed 's/"count": 4/"count": 3/' people.shards >cut.shards
refused "no shard list" "$heft" decrypt --scores "${owner[@]}" --shards cut.shards --in third/*.ct
"$heft" decrypt "${whole[@]}" --in third/00[3201].ct --fpir 0.1 | grep -q "^accept ${name[3]} " ||
  fail "not found in the whole"
refused "opened before" "$heft" decrypt --scores "${whole[@]}" --in third/*.ct

# A claim is answered by its own bucket alone.
pick row-claim "${name[3]}" -- 14
encrypt row-claim claim enrolment
mapfile -t in < <(samples claim)
"$server" verify "${all[@]}" --identity "${name[3]}" "${in[@]}" --out claim.scores >/dev/null
"$heft" decrypt "${whole[@]}" --in claim.scores --fmr 0.1 | grep -q "^accept" ||
  fail "the claim is not accepted"

# A new person brought into each bucket is activated into one.
pick row-new new -- 120
encrypt row-new new enrolment
mapfile -t in < <(samples new)
activated=0
for b in 0 1 2 3; do
  "$server" enrol "${matcher[@]}" --gallery "store:people.00$b" "${in[@]}" >/dev/null
  said="$(activate "$b")"
  if [[ "$said" == *"in the wrong bucket"* ]]; then continue; fi
  activated=$((activated + 1))
done
((activated == 1)) || fail "activated into $activated buckets"

# Each of 25 people against all, in five requests. Both halves are killed, and continue.
for r in 0 1 2 3; do
  labels=() rows=()
  for ((i = 6 * r; i < 6 * r + 6; i++)); do labels+=("${name[i]}") rows+=("$((4 * i + 1))"); done
  pick "rows-$r" "${labels[@]}" -- "${rows[@]}"
  encrypt "rows-$r" "requests/$r" identification
done
pick rows-4 twin -- 23
encrypt rows-4 requests/4 identification
begin() { # match [BUCKET...] or decide, in the background
  if [[ "$1" == match ]]; then
    "$deduplicate" match model.heft keys/evaluation.keys store:people people.shards requests exchange "${@:2}" \
      2>>match.txt &
  else
    "$deduplicate" decide model.heft keys/secret.key keys/trust.heft people.shards requests exchange record 0.05 2>>decide.txt &
  fi
}
lines() { if [[ -f record ]]; then wc -l <record; else echo 0; fi; }
to_the_end() {
  begin decide
  decide=$!
  wait "$decide" || { cat decide.txt; fail "the key owner's half failed"; }
  wait "$match" || { cat match.txt; fail "the server's half failed"; }
}
begin match
match=$!
until [[ "$(find exchange -maxdepth 1 -name '?.00?' 2>/dev/null | wc -l)" == 20 ]]; do
  kill -0 "$match" || { cat match.txt; fail "the server's half is gone"; }
  sleep 0.05
done
cp -r exchange answered
# A pipe or a link instead of a file from the other side is refused: neither half waits for it or
# follows it.
mkdir -p odd/{piped,linked,named}/requests
mkfifo odd/pipe
cp -r requests/4 odd/piped/requests/
cp -r requests/4 odd/linked/requests/
cp -r requests/4 "odd/named/requests/$(printf '4\033')"
mv odd/pipe "$(find odd/piped -name '*.ct' | head -n 1)"
linked="$(find odd/linked -name '*.ct' | head -n 1)"
ln -sf "$work/$linked.there" "$linked"
no_request() { # FOLDER WHY
  refused "$2" "$deduplicate" match model.heft keys/evaluation.keys store:people people.shards "odd/$1/requests" odd/new
}
no_request piped "must be a file"
no_request linked "must be a file"
no_request named "plain text"
cp -r exchange odd/exchange
rm odd/exchange/0.001/00000.ct
mkfifo odd/exchange/0.001/00000.ct
refused "must be a file" "$deduplicate" decide model.heft keys/secret.key \
  keys/trust.heft people.shards requests odd/exchange odd/record 0.05
for least in 3 8 14 20; do # lines of the record: in the middle of a request, or where the job is by then
  begin decide
  decide=$!
  until (($(lines) >= least)) || ! kill -0 "$decide" 2>/dev/null; do sleep 0.02; done
  kill -9 "$decide" "$match" 2>/dev/null || true
  wait "$decide" "$match" 2>/dev/null || true
  begin match
  match=$!
done
to_the_end
# Uses an older record, of a job killed after two people of the third request. Replies that were
# opened are still there and must not be opened again. The job requests again the replies that its
# record lacks.
sed '/"request":"2","row":1,/q' record >older
mv older record
rm exchange/2.done
cp -r answered/2.00? exchange/
begin match 0 2 # as two machines would, with two buckets each
other=$!
begin match 1 3
match=$!
to_the_end
wait "$other" || { cat match.txt; fail "the other machine failed"; }
grep -q '"again":"2"' record || fail "replies that were opened are believed to be new"
"$deduplicate" pairs record >pairs.txt 2>summary.txt
grep -q "of 25 people, 0 refused" summary.txt || { cat summary.txt; fail "not each of them once"; }
grep -qE "^(${name[5]}	twin|twin	${name[5]})$" pairs.txt || { cat pairs.txt; fail "the pair is not found"; }
(($(wc -l <pairs.txt) <= 6)) || { cat pairs.txt; fail "nearly everybody is somebody else"; }
# Only decisions were written, and no files are left over.
if grep -vE '^\{"(heft_deduplication|begin|again|end|request)"' record; then fail "other lines"; fi
if grep -q '"score"' record; then fail "a score"; fi
[[ "$(ls exchange)" == "$(printf '%s.done\n' 0 1 2 3 4)" ]] || { ls exchange; fail "left over"; }
echo "shards_test: ok"
