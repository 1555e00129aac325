#!/usr/bin/env bash
# A server of the release before beside one of the current sources, on a cluster with
# fake nodes of its own. Called by `make releases`; `make test` has it too.
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
