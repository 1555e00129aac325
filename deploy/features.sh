#!/usr/bin/env bash
# Runs feature tests against the programs of this checkout on the local cluster.
# The cluster keeps running, so the next run takes seconds. `make features` calls
# this script; the arguments are passed to go test.
set -euo pipefail
cd "$(dirname "$0")/.."

state=$PWD/.local
bin=$state/features
go -C deploy/local run . up --dir "$state"

race=()
for argument in "$@"; do
  [ "$argument" = -race ] && race=(-race)
done
mkdir -p "$bin"
go build "${race[@]}" -o "$bin/" ./cmd/...

export K8S_CLI_TEST_KUBECONFIG=$state/kubeconfig K8S_CLI_TEST_BIN=$bin K8S_CLI_TEST_HELM=$HELM
PATH=$(make --no-print-directory prometheus):$PATH
nats=$(make --no-print-directory nats)
PATH=${nats%/*}:$PATH
exec go test -count=1 -timeout 30m -skip FakePods "$@" ./test/features
