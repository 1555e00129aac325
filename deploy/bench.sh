#!/usr/bin/env bash
# Runs measurements on a separate cluster without nodes and controllers. The measurement
# soak uses fake nodes. `make bench`, `make soak` and `make latency` call this script; the
# arguments after the first one are passed to test/bench.
set -euo pipefail
cd "$(dirname "$0")/.."
what=$1 nodes=none
shift
dir=$PWD/.local/$what
[[ $what == soak ]] && nodes=kwok

mkdir -p "$dir"
exec 9>"$dir/lock"
flock -n 9 || { echo "bench: another one works in $dir" >&2; exit 1; }

cluster() { go -C deploy/local run . "$1" --dir "$dir" --instance "${INSTANCE:-3}" "${@:2}" 9>&-; }

if [[ $what == bench ]] && ! command -v wrk >/dev/null; then
  echo "installing wrk, which puts load on HTTP servers"
  apt-get update -qq && apt-get install -y -qq wrk
fi
programs=$(mktemp -d)
trap 'rm -rf "$programs" "$dir"/bench/*/; cluster down' EXIT # keeps the logs of the servers
cluster down
cluster up --nodes "$nodes"
echo "building the server and what measures it"
CGO_ENABLED=0 go build -trimpath -o "$programs/" ./cmd/k8s-cli-server ./test/bench
[[ $what == bench ]] || set -- "-$what" "$@"
"$programs/bench" -cluster "$dir" -server "$programs/k8s-cli-server" "$@"
