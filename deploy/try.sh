#!/usr/bin/env bash
# Runs the quick start: starts a cluster and the server, submits the first task and prints
# its log. The script stays in the foreground; Ctrl-C stops everything that the script
# started. `make run` calls this script.
set -euo pipefail
cd "$(dirname "$0")/.."

listen=${K8S_CLI_LISTEN:-127.0.0.1:$((8000 + ${INSTANCE:-0}))}
url=http://$listen
dir=$PWD/.local
cli=bin/k8s-cli
server=
own=         # set if the cluster is the one in .local
own_cluster= # set if this script started that cluster
more=        # the process that adds DNS and the addresses of Services to that cluster

say() { printf '\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '%s\n' "$*"; }

stop() {
  trap - EXIT INT TERM
  if [ -n "$more" ] && kill -INT -- "-$more" 2>/dev/null; then # the process group
    wait "$more" || true
  fi
  if [ -n "$server" ] && kill "$server" 2>/dev/null; then
    wait "$server" || true
  fi
  if [ -n "$own_cluster" ]; then
    go -C deploy/local run . down --dir "$dir"
    rm -rf "$dir/data" # the log is useless without its cluster
  fi
  exit "${1:-0}"
}
trap 'stop $?' EXIT
trap 'echo; say "Stopping"; stop 0' INT TERM

logs=(--log-format text --log-level info) # the loop below searches this format for the readiness message
flags=(--listen "$listen")
data=$dir/data # a log belongs to one cluster
find=(go -C deploy/local run . find --listen "$listen")
if [ -n "${KUBECONFIG:-}" ]; then
  data=$dir/data-$(cksum <<<"$KUBECONFIG" | cut -d' ' -f1)
  eval "$("${find[@]}" --base "$PWD" --kubeconfig "$KUBECONFIG")"
elif [ -z "${NODES:-}" ] && ! go -C deploy/local run . status --dir "$dir" >/dev/null 2>&1; then
  ask=()
  [ ! -t 0 ] || [ ! -t 1 ] || ask=(--ask)
  eval "$("${find[@]}" "${ask[@]}")" # sets KUBECONFIG only if the user agrees
  [ -z "${KUBECONFIG:-}" ] || data=$dir/data-$(cksum <<<"$KUBECONFIG $context" | cut -d' ' -f1)
fi
if [ -z "${KUBECONFIG:-}" ]; then
  say "Starting a Kubernetes of its own"
  if ! go -C deploy/local run . status --dir "$dir" >/dev/null 2>&1; then
    own_cluster=yes
  fi
  go -C deploy/local run . up --dir "$dir" --nodes "${NODES:-kubelet}" --first-task
  eval "$("${find[@]}" --quiet --kubeconfig "$dir/kubeconfig")"
  own=yes
fi
export KUBECONFIG

say "Starting the server on $url, its log in .local/server.log"
mkdir -p "$dir"
bin/k8s-cli-server "${flags[@]}" "${logs[@]}" --data-dir "$data" >"$dir/server.log" 2>&1 &
server=$!
until grep -q 'msg=ready' "$dir/server.log"; do
  if ! kill -0 "$server" 2>/dev/null; then
    server=
    tail -n 3 "$dir/server.log" >&2
    exit 1
  fi
  sleep 0.1
done

export K8S_CLI_API_URL=$url
if "$cli" auth whoami | grep -q 'Not logged in'; then
  "$cli" auth login "${USER:-you}"
fi
say "$ k8s-cli jobs submit examples/hello.yaml"
code=0
"$cli" jobs submit examples/hello.yaml || code=$?
if [ "$code" -ne 0 ]; then
  echo "the first task did not succeed (exit code $code); the server's log is in .local/server.log" >&2
fi

if [ -n "$own" ]; then # the first task ran without DNS and without addresses of Services
  set -m # a process group of its own, which Ctrl-C does not interrupt
  go -C deploy/local run . up --dir "$dir" --nodes "${NODES:-kubelet}" >"$dir/up.log" 2>&1 </dev/null &
  more=$!
  set +m
  tools=$dir/bin:
fi

say "The server runs at $url until you press Ctrl-C.${own_cluster:+ Ctrl-C also deletes the cluster, with its tasks, volumes and outputs.}"
cat <<EOF
In another terminal:
  export PATH=$PWD/bin:${tools:-}\$PATH
  export K8S_CLI_API_URL=$url
  export KUBECONFIG=$KUBECONFIG
  k8s-cli jobs list
  k8s-cli jobs submit examples/hello.yaml
  kubectl get jobs,pods
EOF
wait "$server"
