#!/usr/bin/env bash
# Runs one step of the gate, or one suite of tests: deploy/test.sh STEP. The program test/suites calls
# this script for each step, and reads the results; `make test`, `make test-all` and the targets
# test-NAME call the program. RUN= limits a suite to the tests that match, FORCE=1 ignores the test
# cache of Go.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$PWD/.local/test
bin=$dir/race
code=0

# The flags of `make build` and of the local cluster, so that Go compiles each package once for all
# of them. With -trimpath, the caches of Go serve every clone of the sources.
plain=(-trimpath -gcflags=all=-dwarf=false)
plain() { CGO_ENABLED=0 GOFLAGS="$(go env GOFLAGS) ${plain[*]}" "$@"; }

# The suites use the race detector. The feature tests, docs, clients and the crash points do not: a
# server with the race detector takes five times the processor time. The suites durability, faults,
# attack, ui and openapi run each part of the server with the detector.
flags=(-race -trimpath)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/k8s-cli
mkdir -p "$cache"
cp test/race.txt "$cache/" # Go's test cache compares GORACE, so it is the same in every clone
export CGO_ENABLED=1 GORACE="suppressions=$cache/race.txt"
without_race() {
  flags=("${plain[@]}")
  bin=$dir/plain
  CGO_ENABLED=0
}

install() { # PROGRAM PACKAGE: install a package of Debian if the program is missing
  command -v "$1" >/dev/null && return
  command -v apt-get >/dev/null || { echo "$1 is missing: install the package $2, and run the command again" >&2; exit 1; }
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$2"; } >&2
}

local_cluster() { plain go -C deploy/local run . "$@"; }
kubelet() { # start the cluster with a real kubelet, in place of the other one
  down fake
  local_cluster up --dir "$dir/kubelet" --instance 1
  export K8S_CLI_TEST_KUBECONFIG=$dir/kubelet/kubeconfig
}
fake() { # start the cluster with fake nodes, for many pods, in place of the other one
  down kubelet
  local_cluster up --dir "$dir/fake" --instance 2 --nodes kwok
  export K8S_CLI_TEST_KUBECONFIG=$dir/fake/kubeconfig
}
down() { # CLUSTER
  [ ! -d "$dir/$1" ] || local_cluster down --dir "$dir/$1" --instance "$([ "$1" = fake ] && echo 2 || echo 1)"
}

# programs builds both programs, with crash points, which do nothing unless a variable of the
# environment names one.
programs() {
  mkdir -p "$bin"
  GOGC=300 go build "${flags[@]}" -tags crashpoints -o "$bin/" ./cmd/...
  export K8S_CLI_TEST_BIN=$bin
}

# buckets builds the image that moves the data of buckets, loads it into the cluster, and builds the S3
# server of the tests.
buckets() {
  mkdir -p "$dir/buckets"
  K8S_CLI_TEST_BUCKET_IMAGE=$(go -C deploy/image run . archive --program k8s-cli-bucket --name k8s-cli.local/bucket --platforms "linux/$(go env GOARCH)" --out "$dir/buckets/image.tar" |
    sed -E 's/^[^ ]+ ([^ @]+)@.*/\1/')
  local_cluster load --dir "$dir/kubelet" "$dir/buckets/image.tar"
  CGO_ENABLED=0 go build -C deploy/bucket -trimpath -ldflags "-s -w" -o "$dir/buckets/" ./s3server # shares packages with the image
  export K8S_CLI_TEST_BUCKET_IMAGE K8S_CLI_TEST_S3=$dir/buckets/s3server
}
# stores installs servers of object stores.
stores() {
  install npm npm
  for module in github.com/fsouza/fake-gcs-server@v1.56.1 github.com/versity/versitygw/cmd/versitygw@v1.8.0; do
    GOBIN=$cache/stores CGO_ENABLED=0 go install "$module"
  done
  npm --prefix "$cache/stores" install --no-audit --no-fund --ignore-scripts --no-save --silent azurite@3.37.0
  ln -sf node_modules/.bin/azurite-blob "$cache/stores/"
  export K8S_CLI_TEST_STORES=$cache/stores
}
helm() { K8S_CLI_TEST_HELM=$(make --no-print-directory helm); export K8S_CLI_TEST_HELM; }
prometheus() { PATH=$(make --no-print-directory prometheus):$PATH; }
nats() { PATH=$(dirname "$(make --no-print-directory nats)"):$PATH; }
mypy() { PATH=$(deploy/python.sh):$PATH; }

# tests runs tests and prints their results as JSON. A failure does not end the script, so that
# the tests after it run, too.
tests() {
  [ -z "${RUN:-}" ] || set -- "$@" -run "$RUN"
  go test "${flags[@]}" -vet=off -json "$@" || code=1
}

# unit runs tests that need no cluster. Go skips the packages that did not change since they
# passed. The key of the test cache contains the paths of the files that a test reads, so the tests
# run at a path that is the same for every clone, unless another clone runs its tests there.
unit() {
  local arguments=(-timeout 60m) # Go's limit of 10 minutes is too short for a machine with other work
  [ -z "${FORCE:-}" ] || arguments+=(-count=1 -shuffle=on)
  exec 9>"$cache/checkout.lock"
  if flock -n 9; then
    ln -sfn "$PWD" "$cache/checkout"
    cd "$cache/checkout"
  fi
  tests "${arguments[@]}" "$@" 9>&-
  cd "$(pwd -P)"
  exec 9>&-
}

# The feature tests that belong to other suites.
docs='^Test(Pages|ExceptionsOfPages|Examples|Demo)$'
clients='^Test(Python.*|TypeScript.*|Go.*|CIScript.*)$'
charts='^Test(ChartGrantsExactlyTheRightsInUse|DashboardAndAlerts)$'

bucket='Bucket'

features() { tests -count=1 -timeout 40m "$@" ./test/features; }

case $1 in
  gate-* | lint | programs | cluster | down) ;;
  *) install gcc gcc ;;
esac
case $1 in
  lint) plain make --no-print-directory lint ;;
  programs)
    without_race
    programs
    install gcc gcc
    install chromium chromium
    install python3 python3
    ;;
  cluster) kubelet ;;
  down)
    down kubelet
    down fake
    ;;
  gate-unit) unit -short ./pkg/... ./cmd/... ./test/fences ./test/suites ./test/testkit/... ./test/faults/check ;;
  gate-features)
    without_race
    programs
    kubelet
    features -run "^($(sed -E '/^(#|$)/d; s/ .*//' test/features/gate.txt | paste -sd '|'))\$"
    ;;
  gate-crash)
    without_race
    programs
    kubelet
    tests -count=1 -short ./test/crash
    ;;

  unit) unit ./pkg/... ./cmd/... $(go list ./test/... | grep -v -E '/test/(attack|chart|crash|deploy|durability|features|openapi|ui)$') ;;
  features)
    helm; prometheus; nats
    without_race
    programs
    kubelet
    features -skip "FakePods|$docs|$clients|$charts|$bucket"
    fake
    [ -n "${RUN:-}" ] || features -run FakePods
    ;;
  docs)
    helm; nats
    without_race
    programs
    kubelet
    features -run "$docs"
    ;;
  clients)
    mypy
    deploy/ui.sh modules
    install chromium chromium
    without_race
    programs
    kubelet
    features -run "$clients"
    ;;
  durability)
    programs
    kubelet
    tests -count=1 -timeout 20m ./test/durability
    ;;
  buckets)
    stores
    export K8S_CLI_TEST_BUCKET_FILES=5000 K8S_CLI_TEST_BUCKET_LARGE=1000 K8S_CLI_TEST_BUCKET_OUTAGE=2m
    CGO_ENABLED=0 go -C deploy/bucket test -trimpath -vet=off -count=1 -timeout 60m -json ./... || code=1
    without_race
    programs
    kubelet
    buckets
    features -run "$bucket"
    ;;
  faults)
    programs
    fake
    K8S_CLI_TEST_FAULTS_KUBECONFIG=$K8S_CLI_TEST_KUBECONFIG tests -count=1 -timeout 40m ./test/faults/...
    ;;
  crash)
    without_race
    programs
    fake
    tests -count=1 -timeout 40m ./test/crash
    ;;
  attack)
    programs
    fake
    tests -count=1 -timeout 30m ./test/attack
    ;;
  ui)
    deploy/ui.sh install
    programs
    fake
    K8S_CLI_TEST_UI=short tests -count=1 -timeout 30m ./test/ui
    ;;
  openapi)
    deploy/openapi.sh
    programs
    fake
    tests -count=1 -timeout 20m ./test/openapi
    ;;
  deploy)
    helm; prometheus
    plain make --no-print-directory lint-modules
    for module in local image release vuln; do
      plain go -C "deploy/$module" test -vet=off -json ./... || code=1
    done
    unit ./test/chart
    programs
    kubelet
    features -run "$charts"
    ;;
  *)
    echo "deploy/test.sh: no step $1" >&2
    exit 2
    ;;
esac
exit "$code"
