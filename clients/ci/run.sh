#!/usr/bin/env bash
# Runs a task from a CI system: submits a task file, follows the log, and ends as the task ends.
# If the CI system cancels the job, the script stops the task.
#
# Usage: run.sh FILE [FLAG]...   FLAGS are those of `k8s-cli jobs submit`
#
# Environment:
#   K8S_CLI           the program (default: k8s-cli)
#   K8S_CLI_API_URL   URL of the server
#   K8S_CLI_TOKEN     token of the user; without it, the script uses the login of the CLI
#
# Exit codes: 0 all tasks have completed; 1 a task has failed or was stopped; 2 the command line is
# wrong; 75 the task was not submitted, or its end is unknown; 130 the job was cancelled.
#
# In GitHub Actions, the script writes the outputs task-ids and result, and a summary.
set -uo pipefail

cli=${K8S_CLI:-k8s-cli}
ids=()
submission= # process that submits the task

work=$(mktemp -d) || exit 75
trap 'rm -rf "$work"' EXIT
answer=$work/ids

# log_in logs in with K8S_CLI_TOKEN. The login is removed at the end.
log_in() {
  [ -n "${K8S_CLI_TOKEN:-}" ] || return 0
  export XDG_CONFIG_HOME=$work
  "$cli" auth login --token-stdin <<<"$K8S_CLI_TOKEN" >&2 || exit 75
}

# stop_tasks stops the tasks of a job that was cancelled.
stop_tasks() {
  trap '' INT TERM
  if [ -n "$submission" ]; then
    wait "$submission" # the server may have stored the task
    mapfile -t ids <"$answer"
  fi
  if [ ${#ids[@]} -gt 0 ]; then
    "$cli" jobs stop "${ids[@]}" >&2
    report cancelled
  fi
  exit 130
}

# report writes the result for GitHub Actions.
report() {
  if [ -n "${GITHUB_OUTPUT:-}" ]; then
    printf 'task-ids=%s\nresult=%s\n' "${ids[*]}" "$1" >>"$GITHUB_OUTPUT"
  fi
  if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    {
      printf '| task | result |\n|---|---|\n'
      printf '| %s | '"$1"' |\n' "${ids[@]}"
    } >>"$GITHUB_STEP_SUMMARY"
  fi
}

[ $# -gt 0 ] || { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p;}' "$0" >&2; exit 2; }
log_in
trap stop_tasks INT TERM

# The program runs in the background, because bash handles a signal only between two commands.
"$cli" jobs submit -d -q "$@" >"$answer" &
submission=$!
wait "$submission"
code=$?
mapfile -t ids <"$answer"
submission=
case $code in
  0) ;;
  2) exit 2 ;;
  *)
    echo "run.sh: the task was not submitted: exit code $code" >&2
    [ ${#ids[@]} -eq 0 ] || "$cli" jobs stop "${ids[@]}" >&2
    exit 75
    ;;
esac
printf 'Task %s\n' "${ids[@]}" >&2

# A CI system reads commands from the lines of a step, and the lines of a task are not trusted.
resume=
if [ -n "${GITHUB_ACTIONS:-}" ]; then
  resume=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  echo "::stop-commands::$resume"
fi
if [ -n "${TF_BUILD:-}" ]; then # Azure Pipelines
  exec 3> >(sed -u 's/##\(vso\)\{0,1\}\[/# #\1[/g')
else
  exec 3>&1
fi
"$cli" jobs logs "${ids[@]}" >&3 3>&- &
wait $!
exec 3>&-
if [ -n "$resume" ]; then printf '\n::%s::\n' "$resume"; fi
"$cli" jobs wait "${ids[@]}" >&2 & # also knows the end if the log is lost
wait $!
code=$?
case $code in
  0) report completed ;;
  100) report failed; exit 1 ;;
  103) report stopped; exit 1 ;;
  *)
    echo "run.sh: the end of the task is unknown: exit code $code" >&2
    report unknown
    exit 75
    ;;
esac
