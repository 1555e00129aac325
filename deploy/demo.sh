#!/usr/bin/env bash
# Records the terminal session of README.md: starts a cluster and the server as `make run`
# does, and stops them afterwards. With K8S_CLI_API_URL, the script uses that server instead.
# `make demo` calls this script.
set -euo pipefail
cd "$(dirname "$0")/.."

url=${K8S_CLI_API_URL:-}
if [ -z "$url" ]; then
  url=http://${K8S_CLI_LISTEN:-127.0.0.1:8000}
  log=$PWD/.local/demo.log
  mkdir -p "${log%/*}"
  : >"$log"
  deploy/try.sh > >(tee "$log") 2>&1 </dev/null &
  server=$!
  trap 'kill "$server" 2>/dev/null; wait "$server" || true' EXIT
  until grep -q '^The server runs at' "$log"; do
    kill -0 "$server" 2>/dev/null || exit 1 # the script has printed the reason
    sleep 0.5
  done
fi
go run ./test/demo -url "$url"
