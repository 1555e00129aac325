#!/usr/bin/env bash
# The figures of test/bench, on a cluster of its own: without nodes, or for
# `-soak` with fake ones. Called by `make bench` and `make soak`; what is given is
# passed on to test/bench.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$PWD/.local/bench nodes=none

for argument in "$@"; do
  [[ $argument == -soak ]] && dir=$PWD/.local/soak nodes=kwok
done

mkdir -p "$dir"
exec 9>"$dir/lock"
flock -n 9 || { echo "bench: another one works in $dir" >&2; exit 1; }

cluster() { go -C deploy/local run . "$1" --dir "$dir" --instance "${INSTANCE:-3}" "${@:2}" 9>&-; }

if [[ $nodes == none ]] && ! command -v wrk >/dev/null; then
  echo "installing wrk, which puts load on HTTP servers"
  apt-get update -qq && apt-get install -y -qq wrk
fi
programs=$(mktemp -d)
trap 'rm -rf "$programs" "$dir"/bench/*/; cluster down' EXIT # what the servers said stays
cluster down
cluster up --nodes "$nodes"
echo "building the server and the bench"
CGO_ENABLED=0 go build -trimpath -o "$programs/" ./cmd/k8s-cli-server ./test/bench
"$programs/bench" -cluster "$dir" -server "$programs/k8s-cli-server" "$@"
