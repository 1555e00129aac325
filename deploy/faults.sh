#!/usr/bin/env bash
# The fault harness on a cluster with fake nodes of its own. Called by `make
# faults` and `make fault-bugs`; what is given is passed on to test/faults.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$PWD/.local/faults
cluster() { go -C deploy/local run . "$1" --dir "$dir" --instance 3 "${@:2}"; }

trap 'cluster down' EXIT
cluster down
cluster up --nodes kwok
programs=$(mktemp -d)
trap 'rm -rf "$programs"; cluster down' EXIT
go build -o "$programs/faults" ./test/faults
"$programs/faults" --kubeconfig "$dir/kubeconfig" "$@"
