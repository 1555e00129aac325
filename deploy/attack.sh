#!/usr/bin/env bash
# Runs all attacks on the server and the CLI, on a separate cluster with fake nodes. `make
# attack` calls this script; the arguments are passed to test/attack.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$PWD/.local/attack
mkdir -p "$dir"
exec 9>"$dir/lock"
flock -n 9 || { echo "attack: another one works in $dir" >&2; exit 1; }

cluster() { go -C deploy/local run . "$1" --dir "$dir" --instance "${INSTANCE:-7}" "${@:2}" 9>&-; }

programs=$(mktemp -d)
trap 'rm -rf "$programs"; cluster down' EXIT
cluster down
cluster up --nodes kwok
echo "building the server, the CLI and what attacks them"
CGO_ENABLED=0 go build -trimpath -o "$programs/" ./cmd/... ./test/attack
"$programs/attack" -kubeconfig "$dir/kubeconfig" -programs "$programs" "$@"
