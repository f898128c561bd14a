#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Both services with a throw-away authority, for tests: service_world.sh FOLDER [wide], with heft,
# heft-server, heft-matcher and heft-decider on $PATH. Prints their URLs, and serves until its input ends.
# "wide": with a model of 1,024 dimensions.
set -euo pipefail
scripts="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../scripts" && pwd -P)"
# shellcheck source=scripts/common.sh
source "$scripts/common.sh"
# shellcheck source=scripts/service-world.sh
source "$scripts/service-world.sh"
umask 077
work="$1" daemons=()
trap end_daemons EXIT
find_programs true
model=("${@:2}")
((${#model[@]} > 0)) || model=(--identities 40 --jitter 0.3 0.3)
make_keys "${model[@]}"
make_certificates matcher decider registrar client operator
write_configurations 0.1
openssl rand -hex 32 >"$work/notebook.key"
cat >>"$work/matcher/matcher.toml" <<TOML
[[api_key]]
name = "notebook"
sha256 = "$(tr -d '\n' <"$work/notebook.key" | sha256sum | cut -c 1-64)"
roles = ["client"]
TOML
start_decider
daemons+=($!)
wait_until_ready "$deciding" "${daemons[0]}"
start_matcher
daemons+=($!)
wait_until_ready "$matching" "${daemons[1]}"
printf '%s %s\n' "$matching" "$deciding"
read -r _ || true
