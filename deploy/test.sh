#!/usr/bin/env bash
# Runs all checks of CI on separate clusters. `make test` calls this script. The last line
# of the output says what ran and what was skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$PWD/.local/test
cluster() { go -C deploy/local run . "$1" --dir "$dir" --instance 1 "${@:2}"; }
fake() { go -C deploy/local run . "$1" --dir "$dir/fake" --instance 2 "${@:2}"; } # for tests with many pods
step() { printf '\n== %s\n' "$*"; }

if ! command -v gcc >/dev/null && command -v apt-get >/dev/null; then
  step "Installing gcc for the race detector"
  apt-get update -qq && apt-get install -y -qq gcc libc6-dev
fi

step "Lint"
make --no-print-directory lint

step "Helm"
K8S_CLI_TEST_HELM=$(make --no-print-directory helm)
export K8S_CLI_TEST_HELM

step "Prometheus"
PATH=$(make --no-print-directory prometheus):$PATH
export PATH

step "Browser"
deploy/ui.sh install

step "The CLI of NATS"
nats=$(make --no-print-directory nats)
PATH=${nats%/*}:$PATH

step "Tools that read the API description"
deploy/openapi.sh

step "Types of Python"
mypy=$(deploy/python.sh)
PATH=$mypy:$PATH

step "A Kubernetes of its own"
trap 'cluster down; fake down' EXIT # also if a step before the tests fails
cluster down
fake down
cluster up

step "Building with the race detector"
bin=$dir/race
mkdir -p "$bin"
go build -race -o "$bin/" ./cmd/...
go build -race -tags crashpoints -o "$bin/crashpoints/" ./cmd/k8s-cli-server

step "Tests"
export K8S_CLI_TEST_KUBECONFIG=$dir/kubeconfig K8S_CLI_TEST_BIN=$bin
tests() {
  go -C deploy/local test -race -json ./... || true
  go -C deploy/image test -race -json ./... || true
  go -C deploy/release test -json ./... || true
  go -C deploy/vuln test -json ./... || true
  go test -race -shuffle=on -json ./pkg/... ./cmd/... ./test/summary ./test/chart ./test/fences ./test/growth ./test/bench/... ./test/mutate ./test/count ./test/demo ./test/testkit ./test/ui/serve || true
  go test -race -count=1 -timeout 30m -skip FakePods -json ./test/features || true
  go test -race -count=1 -timeout 10m -json ./test/durability || true
  cluster down
  fake up --nodes kwok
  K8S_CLI_TEST_FAULTS_KUBECONFIG=$dir/fake/kubeconfig go test -race -count=1 -timeout 15m -json ./test/faults/... || true
  K8S_CLI_TEST_KUBECONFIG=$dir/fake/kubeconfig go test -race -count=1 -timeout 15m -json ./test/crash || true
  K8S_CLI_TEST_KUBECONFIG=$dir/fake/kubeconfig go test -race -count=1 -timeout 10m -run FakePods -json ./test/features || true
  K8S_CLI_TEST_KUBECONFIG=$dir/fake/kubeconfig go test -race -count=1 -timeout 10m -json ./test/attack || true
  K8S_CLI_TEST_UI=short K8S_CLI_TEST_KUBECONFIG=$dir/fake/kubeconfig go test -count=1 -timeout 15m -json ./test/ui || true
  K8S_CLI_TEST_KUBECONFIG=$dir/fake/kubeconfig go test -count=1 -timeout 10m -json ./test/openapi || true
  fake down
}
code=0
tests | go run ./test/summary lint || code=1
trap - EXIT
exit "$code"
