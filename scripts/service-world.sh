# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# Both services on this machine, with a throw-away authority: for scripts/demo --service and
# scripts/soak-service, and tests. Meant to be sourced, after common.sh, by a script that calls
# make_workplace first, or has a folder $work (mode 0700) of its own.

# make_workplace: makes $work, of mode 0700. At the end of the script it ends the processes of $daemons, and then
# removes $work. Each process has to be in $daemons as long as it runs.
make_workplace() {
  umask 077
  work="$(mktemp -d)"
  daemons=()
  trap leave_workplace EXIT
}
# shellcheck disable=SC2317  # by the trap
leave_workplace() {
  end_daemons
  rm -rf -- "$work"
}
end_daemons() {
  ((${#daemons[@]} == 0)) || kill -TERM "${daemons[@]}" 2>/dev/null || true
  wait || true
}

# find_programs INSTALLED: $heft, $server, $matcher, $decider: built, or with "true" those on $PATH.
find_programs() {
  local program
  if $1; then
    heft=heft server=heft-server matcher=heft-matcher decider=heft-decider
  else
    "$root/scripts/install-dependencies" --no-npm
    build_release heft heft-server heft-matcher heft-decider >&2
    heft="$root/build/release/cli/heft" server="$root/build/release/cli/heft-server"
    matcher="$root/build/release/service/matcher/heft-matcher"
    decider="$root/build/release/service/decider/heft-decider"
  fi
  for program in "$heft" "$server" "$matcher" "$decider" openssl curl; do
    command -v "$program" >/dev/null || die "$program is missing"
  done
}

# make_model [SYNTH_OPTION]...: of synthetic people with four samples each, in $work/owner.
make_model() {
  (($# > 0)) || set -- --identities 120 --jitter 0.3 0.3
  "$heft" synth --quiet --out "$work/data" --samples 4 --dimensions 128 128 "$@" >/dev/null
  "$heft" train --quiet --data "$work/data" --gamma 32 --no-exact --out "$work/owner/model.heft" >/dev/null
}
# make_wide_model: of 1,024 fused dimensions, which nothing trains, with thresholds.
make_wide_model() {
  "$heft" synth --quiet --out "$work/data" --identities 30 --samples 4 --dimensions 272 256 \
    --jitter 0.1 0.1 --within 0.3 0.3 --noise 0.3 0.3 >/dev/null
  "$heft" train --quiet --data "$work/data" --method none --out "$work/owner/untrained.heft" >/dev/null
  "$heft" calibrate --quiet --data "$work/data" --model "$work/owner/untrained.heft" \
    --out "$work/owner/model.heft" >/dev/null
}

# make_keys [wide | SYNTH_OPTION...]: a model, the key owner's keys in $work/owner, a matcher's files with
# an empty gallery in $work/matcher; $gallery is its id.
make_keys() {
  mkdir "$work"/{owner,matcher,pki}
  export HEFT_STATE_DIR="$work/owner/anchors"
  if [[ "${1:-}" == wide ]]; then
    make_wide_model
  else
    make_model "$@"
  fi
  openssl rand -base64 24 >"$work/owner/passphrase"
  "$heft" keygen --quiet --model "$work/owner/model.heft" --out "$work/owner/keys" \
    --passphrase-file "$work/owner/passphrase" >/dev/null
  cp "$work/owner/model.heft" "$work/owner/keys/encryption.key" "$work/owner/keys/evaluation.keys" \
    "$work/owner/keys/enrolment.keys" "$work/owner/keys/trust.heft" "$work/matcher/"
  gallery="$(HEFT_STATE_DIR="$work/matcher/state" "$server" gallery create --quiet --json \
    --model "$work/matcher/model.heft" --keys "$work/matcher/evaluation.keys" \
    --gallery "$work/matcher/store:visitors" | sed -n 's/^ *"gallery_id": "\([0-9a-f]*\)".*/\1/p')"
  [[ -n "$gallery" ]] || die "heft-server gallery create did not say the gallery's id"
  "$heft" trust add --trust "$work/owner/keys/trust.heft" --role server \
    --key "$work/matcher/store/server.pub" --name matcher >/dev/null
}

openssl_quietly() { openssl "$@" 2>"$work/openssl.log" || die "openssl $1: $(cat "$work/openssl.log")"; }

# make_certificates NAME...: each good for localhost, as server and client, in $work/pki; and the key that
# decisions are signed with.
make_certificates() {
  local name pki="$work/pki" curve=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
  openssl_quietly req -x509 "${curve[@]}" -days 2 -subj "/CN=HEFT throw-away authority" \
    -keyout "$pki/ca.key" -out "$pki/ca.pem"
  printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n' >"$pki/extensions"
  for name in "$@"; do
    openssl_quietly req "${curve[@]}" -subj "/CN=$name" -keyout "$pki/$name.key" -out "$pki/$name.csr"
    openssl_quietly x509 -req -in "$pki/$name.csr" -CA "$pki/ca.pem" -CAkey "$pki/ca.key" -days 2 \
      -CAcreateserial -extfile "$pki/extensions" -out "$pki/$name.pem"
  done
  openssl_quietly genpkey -algorithm ed25519 -out "$work/owner/decision.key"
}

free_port() { # a port without a listener
  local port
  for port in $(shuf -i 20000-32000 -n 50); do
    (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port" && return; }
  done
  die "no free port"
}

common_configuration() { # PORT NAME FOLDER
  cat <<TOML
[listen]
address = "127.0.0.1:$1"
[tls]
certificate = "$work/pki/$2.pem"
private_key = "$work/pki/$2.key"
authorities = "$work/pki/ca.pem"
[access]
nonces = "$3/nonces"
requests_a_second = 0
verifications_a_minute = 0
[audit]
file = "$3/audit.log"
[log]
level = "warning"
[[certificate]]
subject = "operator"
roles = ["operator", "auditor"]
TOML
}

# write_configurations [FPIR]: $work/owner/decider.toml, $work/matcher/matcher.toml; $deciding and $matching
# are their URLs.
write_configurations() {
  local fpir="${1:-0.01}"
  local decider_port matcher_port lock=true
  decider_port="$(free_port)"
  matcher_port="$(free_port)"
  deciding="https://localhost:$decider_port" matching="https://localhost:$matcher_port"
  [[ "$(ulimit -l)" == unlimited ]] || lock=false
  {
    common_configuration "$decider_port" decider "$work/owner"
    cat <<TOML
[[certificate]]
subject = "matcher"
roles = ["machine"]
[key]
model = "model.heft"
secret_key = "keys/secret.key"
trust = "keys/trust.heft"
passphrase = "fd:3"
lock_memory = $lock
[decisions]
key = "decision.key"
issuer = "demo"
[state]
folder = "state"
[[gallery]]
id = "$gallery"
name = "visitors"
fpir = $fpir
fmr = 0.001
TOML
  } >"$work/owner/decider.toml"
  {
    common_configuration "$matcher_port" matcher "$work/matcher"
    cat <<TOML
[[certificate]]
subject = "registrar"
roles = ["registrar"]
[[certificate]]
subject = "client"
roles = ["client"]
[store]
folder = "store"
[keys]
model = "model.heft"
evaluation = "evaluation.keys"
enrolment = "enrolment.keys"
encryption = "encryption.key"
trust = "trust.heft"
[decider]
url = "$deciding"
poll_milliseconds = 200
TOML
  } >"$work/matcher/matcher.toml"
}

# start_decider, start_matcher: in the background; $! is its process.
start_decider() {
  "$decider" serve --config "$work/owner/decider.toml" 3<"$work/owner/passphrase" &
}
start_matcher() {
  HEFT_STATE_DIR="$work/matcher/state" "$matcher" serve --config "$work/matcher/matcher.toml" &
}

# start_demo_page PACKAGE: browser/demo's own server in the background, with the package that scripts/build-browser has
# built; $! is its process. wait_for_demo_page: until it serves; $page is its URL.
start_demo_page() {
  node "$root/browser/demo/serve.mjs" --package "$1" --trust "$work/matcher/trust.heft" --matcher "$matching" \
    --decider "$deciding" --authorities "$work/pki/ca.pem" --client "$work/pki/client" \
    --registrar "$work/pki/registrar" >"$work/page.url" &
}
wait_for_demo_page() {
  local i
  for ((i = 0; i < 100; ++i)); do
    page="$(head -n 1 "$work/page.url")"
    [[ -z "$page" ]] || return 0
    sleep 0.1
  done
  die "the demonstration page is not served"
}

# as NAME METHOD URL [CURL OPTION]...: a request with that certificate, a nonce and the time.
# With HEFT_OPENAPI_RECORDS=FOLDER the answer is left there, for tests/service/contract.mjs.
as() {
  local name="$1" method="$2" url="$3" code=0 answer
  shift 3
  if [[ -z "${HEFT_OPENAPI_RECORDS:-}" ]]; then
    ask "$name" "$method" "$url" "$@"
    return
  fi
  mkdir -p "$HEFT_OPENAPI_RECORDS"
  answer="$(mktemp -d -p "$work")"
  ask "$name" "$method" "$url" "$@" --dump-header "$answer/head" --output "$answer/body" || code=$?
  touch "$answer/body"
  if [[ -s "$answer/head" ]]; then
    python3 "$root/tests/service/record.py" "$method" "$url" "$answer/head" "$answer/body" \
      >>"$HEFT_OPENAPI_RECORDS/${0##*/}.jsonl"
  fi
  cat "$answer/body"
  rm -rf -- "$answer"
  return "$code"
}

ask() {
  local name="$1" method="$2" url="$3"
  shift 3
  curl --silent --show-error --fail-with-body --cacert "$work/pki/ca.pem" --cert "$work/pki/$name.pem" \
    --key "$work/pki/$name.key" --request "$method" --max-time 30 \
    --header "X-Heft-Nonce: $(openssl rand -base64 16 | tr '+/' '-_' | tr -d '=')" \
    --header "X-Heft-Time: $(date +%s)" "$@" "$url"
}

wait_until_ready() { # URL PROCESS
  local i
  for ((i = 0; i < 200; ++i)); do
    as operator GET "$1/health/ready" >/dev/null 2>&1 && return
    kill -0 "$2" 2>/dev/null || die "the daemon of $1 has ended"
    sleep 0.1
  done
  die "$1 does not become ready"
}
