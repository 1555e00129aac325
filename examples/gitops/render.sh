#!/usr/bin/env bash
# Usage: render.sh FILE [FLAG]...
# Prints the Kubernetes objects of a task file without what differs at each call: the
# id of the task, times, and the hash of both.
set -euo pipefail

objects=$(k8s-cli jobs submit --dry-run "$@" 2>/dev/null)
id=$(grep -m1 ' task-id: ' <<<"$objects" | sed 's/.*: //')
sed -E -e "s/$id/ID/g" -e '/^ *(created-at|skypilot-submission): /d' -e 's/sky-managed-[0-9-]+/sky-managed-TIME/' <<<"$objects"
