#!/usr/bin/env bash
# Runs the fault tests on a separate cluster with fake nodes. `make faults` and `make
# fault-bugs` call this script; the arguments are passed to test/faults.
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
