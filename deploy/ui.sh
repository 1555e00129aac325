#!/usr/bin/env bash
# Tests the pages with full sizes, or writes screenshots, in a real browser on a separate cluster with
# fake nodes. `make ui-full` and `make screenshots` call this script with full or screenshots. With
# install, the script only installs Chromium, Node and the modules of test/ui; with modules, it
# installs no Chromium.
set -euo pipefail
cd "$(dirname "$0")/.."
what=$1

install() {
  local packages=()
  [ "$what" = modules ] || command -v chromium >/dev/null || packages+=(chromium)
  command -v node >/dev/null || packages+=(nodejs)
  command -v npm >/dev/null || packages+=(npm)
  [ "$what" != screenshots ] || [ -e /usr/share/fonts/opentype/inter ] || packages+=(fonts-inter)
  if [ ${#packages[@]} -gt 0 ]; then
    echo "installing ${packages[*]}"
    apt-get update -qq && apt-get install -y -qq --no-install-recommends "${packages[@]}"
  fi
  # node_modules remembers the lock file from which it was installed.
  if ! cmp -s test/ui/package-lock.json test/ui/node_modules/.installed; then
    npm --prefix test/ui ci --no-audit --no-fund --ignore-scripts
    cp test/ui/package-lock.json test/ui/node_modules/.installed
  fi
}

install
case $what in install | modules) exit ;; esac

dir=$PWD/.local/ui
mkdir -p "$dir"
exec 9>"$dir/lock"
flock -n 9 || { echo "ui: another one works in $dir" >&2; exit 1; }
cluster() { go -C deploy/local run . "$1" --dir "$dir" --instance "${INSTANCE:-8}" "${@:2}" 9>&-; }

trap 'cluster down' EXIT
cluster down
cluster up --nodes kwok
mkdir -p "$dir/bin"
CGO_ENABLED=0 go build -trimpath -o "$dir/bin/" ./cmd/k8s-cli-server
K8S_CLI_TEST_UI=$what K8S_CLI_TEST_KUBECONFIG=$dir/kubeconfig K8S_CLI_TEST_BIN=$dir/bin go test -count=1 -timeout 40m -v ./test/ui
