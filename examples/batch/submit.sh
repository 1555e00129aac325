#!/usr/bin/env bash
# Usage: submit.sh RUN COUNT
# Submits COUNT tasks in one request, one JSON document per line, and prints the ids.
# Run it again with the same RUN after an error: no task is submitted twice.
set -euo pipefail

run=$1 count=$2
url=${K8S_CLI_API_URL:-http://localhost:8000}
user=${X_USER:-ann@example.com}

for ((shard = 0; shard < count; shard++)); do
  printf '{"name":"shard-%d","run":"echo \\"shard $SHARD is done\\"","envs":{"SHARD":"%d"},"resources":{"cpus":"0.1","memory":"64Mi"},"idempotency_key":"%s-%d"}\n' \
    "$shard" "$shard" "$run" "$shard"
done |
  curl --fail-with-body --silent --show-error --retry 3 \
    --header "X-User: $user" --header 'Content-Type: application/x-ndjson' --data-binary @- "$url/tasks/batch" |
  tee answer.json |
  grep -o '"task_id":"[^"]*"' | cut -d'"' -f4
