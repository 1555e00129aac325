#!/usr/bin/env bash
# Runs a server of the previous release next to a server of the current sources, on a
# separate cluster with fake nodes. `make releases` calls this script; `make test` runs
# the same test.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$PWD/.local/releases
cluster() { go -C deploy/local run . "$1" --dir "$dir" --instance 3 "${@:2}"; }

trap 'cluster down' EXIT
cluster down
cluster up --nodes kwok
mkdir -p "$dir/programs"
go build -race -o "$dir/programs/" ./cmd/k8s-cli-server
K8S_CLI_TEST_FAULTS_KUBECONFIG=$dir/kubeconfig K8S_CLI_TEST_BIN=$dir/programs go test -race -count=1 -timeout 10m -v -run TestReleasesSideBySide ./test/faults
