#!/usr/bin/env bash
# Usage: ci.sh [FLAG]...
# Runs the task, and ends with 0 if the task has succeeded, 1 if it has failed, and
# 75 if nothing can be said of it, so that the CI system may run this job again.
set -uo pipefail

k8s-cli jobs submit task.yaml "$@"
code=$?
case $code in
  0) echo "the task has succeeded" ;;
  100) echo "the task has failed" >&2; exit 1 ;;
  103) echo "a user has stopped the task" >&2; exit 1 ;;
  101) echo "the task has not finished" >&2; exit 75 ;;
  *) echo "the task was not submitted: exit code $code" >&2; exit 75 ;;
esac
