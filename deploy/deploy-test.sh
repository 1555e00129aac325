#!/usr/bin/env bash
# Installs on a separate cluster, as `make deploy` does, and tests the installation: the
# contract through the Service, and a load while pods are replaced. `make deploy-test`
# calls this script and sets HELM to the path of helm. The script takes about seven
# minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

export LOCAL_DIR=$PWD/.local/deploy
cluster() { go -C deploy/local run . "$1" --dir "$LOCAL_DIR"; }
unset KUBECONFIG

trap 'cluster down' EXIT
cluster down
deploy/deploy.sh deploy
mkdir -p "$LOCAL_DIR/programs"
go build -o "$LOCAL_DIR/programs/" ./cmd/k8s-cli
K8S_CLI_TEST_DEPLOYED=$LOCAL_DIR/kubeconfig K8S_CLI_TEST_BIN=$LOCAL_DIR/programs K8S_CLI_TEST_HELM=$HELM \
  go test -count=1 -timeout 20m -v ./test/deploy
deploy/deploy.sh undeploy
