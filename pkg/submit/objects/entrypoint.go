package objects

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s-cli/pkg/task"
)

// start is the command that finds bash in the image, or sh otherwise, and runs the entrypoint
// in that shell, whose $0 is its path. The PATH of the task may be wrong. With -p, bash reads neither
// BASH_ENV nor options from the environment: both are for the scripts.
const start = `if command -v bash >/dev/null; then exec bash -pc "$0" bash "$@"; fi
if [ -x /bin/bash ]; then exec /bin/bash -pc "$0" /bin/bash "$@"; fi
if [ -x /usr/bin/bash ]; then exec /usr/bin/bash -pc "$0" /usr/bin/bash "$@"; fi
exec /bin/sh -c "$0" /bin/sh "$@"`

// entrypoint returns the script that runs setup and then run, the latter only if setup
// succeeded. Both scripts run in the working directory $1 and in the shell of the entrypoint
// itself. args are the arguments after $1. The script contains only the parts that the task
// needs, because every Job and every pod carries a copy. For several nodes, $2 is their number and $3
// is the name of their Service: see peers. The following arguments say where files are copied
// to; the working directory may be such a target: see copyFiles. The script contains no text of the
// task, so nothing needs quoting.
//
// A shell passes a variable on to the scripts if its environment had a variable of that name. So the
// entrypoint sets only variables whose names begin with task.ReservedVariables, which no task may
// set, until the scripts have ended.
func entrypoint(r *task.Record, args []string) string {
	t := r.Submit.Task
	s := "set -u\n"
	if len(t.Outputs) > 0 {
		s += sendOutputs
	}
	if t.Buckets.Send() {
		s += storeBuckets
	}
	s += variables
	if needsHome(t) {
		s += home
	}
	if len(args) > 2 {
		s += copyFiles
	}
	if bucketLinks(t) != "" {
		s += linkBuckets
	}
	s += runner
	if usesSudo(t) {
		s += sudo
	}
	s += scripts
	if r.NumNodes() > 1 {
		s += peers
	}
	if r.Submit.JobGroup != nil {
		s += groupHosts
	}
	return s + finish
}

const variablesEnv = task.VariablesEnv

const variables = `k8s_cli_variables=${` + variablesEnv + `:-}
unset ` + variablesEnv + `
`

// needsHome reports whether a task has files in its home directory, or starts there.
func needsHome(t task.Spec) bool {
	return t.Workdir == "" || t.Workdir == "~" || strings.HasPrefix(t.Workdir, "~/") || bucketLinks(t) != "" ||
		slices.ContainsFunc(slices.Collect(maps.Keys(t.Uploads)), func(target string) bool { return strings.HasPrefix(target, "~/") })
}

// home is the part of the entrypoint that gives a home directory to a user that has none in which it
// may write: a user that the image does not know, or any user in a read-only file system. The new home
// reads the start-up file of the old one. A task that sets HOME keeps it. A home has a sky_workdir, as
// in SkyPilot: who can create that may write.
const home = `k8s_cli_may_write() { { command -p mkdir -p "$1" && true >"$1/.k8s-cli" && command -p rm -f "$1/.k8s-cli"; } 2>/dev/null; }
k8s_cli_made=
k8s_cli_live() {
  if [ -e "$1/sky_workdir" ]; then k8s_cli_may_write "$1/"; return; fi
  command -p mkdir -p "$1/sky_workdir" 2>/dev/null && k8s_cli_made=$1/sky_workdir
}
case " $k8s_cli_variables " in *" HOME "*) ;; *)
  if ! k8s_cli_live "${HOME:-}"; then
    for k8s_cli_home in ` + task.OtherHomes + `; do
      if ! k8s_cli_live "$k8s_cli_home"; then continue; fi
      if [ -r "${HOME:-}/.bashrc" ]; then printf '. "%s"\n' "$HOME/.bashrc" >"$k8s_cli_home/.bashrc"; fi
      export HOME="$k8s_cli_home"
      break
    done
  fi
esac
`

// runner is the part of the entrypoint that runs one script. As process 1 of its container,
// the entrypoint passes SIGTERM on to all other processes, which then have the grace period to
// end; a plain shell would ignore SIGTERM. After SIGTERM no script begins, whatever the exit
// code of setup. SIGTERM may end wait before the script ends, so wait is repeated; the
// repeated wait returns 127 if the first one had already returned the exit code.
//
// A task without a working directory starts in ~/sky_workdir, as in SkyPilot, if the user may write
// there.
//
// When a script has ended, processes that read its output from a pipe, as after exec > >(tee log), may
// not have written all of it. The entrypoint waits for processes whose standard input is a pipe: a
// minute at most if nothing writes to the pipe any more, and so the process comes to its end; two
// seconds if a process that the script left behind may write to it.
//
// Job control in bash (-m) prevents that a script begins with SIGINT ignored, as background
// processes of a shell otherwise do.
const runner = `case $1 in
  "") if [ "$k8s_cli_made" ] || k8s_cli_may_write "${HOME:-}/sky_workdir"; then cd "${HOME:-}/sky_workdir" || exit; fi ;;
  "~"|"~/"*) cd "${HOME:-/}${1#"~"}" || exit ;;
  -*) cd "./$1" || exit ;;
  *) cd "$1" || exit ;;
esac
k8s_cli_ending=
trap 'k8s_cli_ending=yes; trap "" TERM; if [ $$ = 1 ]; then kill -TERM -1; else kill -TERM ${!:-}; fi' TERM
k8s_cli_pause() { command -p sleep $1 2>/dev/null || command -p sleep 1; }
k8s_cli_drain() {
  k8s_cli_waited=0
  while :; do
    k8s_cli_left=0
    for k8s_cli_in in /proc/[0-9]*/fd/0; do
      if [ "$k8s_cli_in" = /proc/1/fd/0 ] || ! [ -p "$k8s_cli_in" ]; then continue; fi
      k8s_cli_left=600
      for k8s_cli_out in /proc/[0-9]*/fd/[12]; do
        if [ "$k8s_cli_out" -ef "$k8s_cli_in" ]; then
          k8s_cli_left=20
          break
        fi
      done
      if [ $k8s_cli_left = 600 ]; then break; fi
    done
    if [ $k8s_cli_waited -ge $k8s_cli_left ]; then return; fi
    k8s_cli_pause 0.1
    k8s_cli_waited=$((k8s_cli_waited + 1))
  done
}
k8s_cli_script() {
  if ! [ -s "$1" ]; then return 0; fi
  if [ -n "$k8s_cli_ending" ]; then return 143; fi
  case $0 in
    *bash) set -m; "$0" -c "$k8s_cli_sudo$k8s_cli_begin" "$1" $k8s_cli_variables & ;;
    *) "$0" -c "$k8s_cli_sudo. \"\$0\"" "$1" & ;;
  esac
  k8s_cli_pid=$!
  set +m
  wait $k8s_cli_pid
  k8s_cli_code=$?
  if [ -n "$k8s_cli_ending" ]; then
    wait $k8s_cli_pid
    k8s_cli_again=$?
    if [ $k8s_cli_again != 127 ]; then k8s_cli_code=$k8s_cli_again; fi
  fi
  if [ $$ = 1 ]; then
    k8s_cli_drain
    while [ -n "$k8s_cli_ending" ] && kill -0 -1 2>/dev/null; do k8s_cli_pause 0.1; done
  fi
  return $k8s_cli_code
}
k8s_cli_sudo=
`

// scripts is how a script begins in bash: as in SkyPilot, ~/.bashrc has its effect, which setup or
// Conda may have changed, and then the variables of the task get their values again. Many .bashrc
// files return at once in a shell that is not interactive: PS1 is set meanwhile, and $- contains an i.
// Files that do not return set PS1 themselves. Builtins do the work, because each process that starts
// here delays every task.
const scripts = `k8s_cli_begin='if [ -r ~/.bashrc ]; then
  k8s_cli_dir=$PWD k8s_cli_text= k8s_cli_env=
  IFS= read -r -d "" k8s_cli_text <~/.bashrc
  for k8s_cli_name; do
    printf -v k8s_cli_value %q "${!k8s_cli_name-}"
    k8s_cli_env+="export $k8s_cli_name=$k8s_cli_value;"
  done
  set --
  PS1=-
  case $k8s_cli_text in
    *\$-*|*\${-}*)
      k8s_cli_text=${k8s_cli_text//\$-/i\$-}
      . <(printf "%s\n" "${k8s_cli_text//\$\{-\}/i\$-}") ;;
    *) . ~/.bashrc ;;
  esac
  cd "$k8s_cli_dir"
  unset PS1
  eval "$k8s_cli_env" 2>/dev/null
fi
unset k8s_cli_dir k8s_cli_text k8s_cli_env k8s_cli_name k8s_cli_value
set --
. "$0"'
`

// sudo is the part of the entrypoint for scripts that use sudo, as the scripts of SkyPilot do, whose
// images have sudo. If root runs a script in an image without sudo, sudo runs the command.
const sudo = `if ! command -v sudo >/dev/null && [ "$(id -u 2>/dev/null)" = 0 ]; then k8s_cli_sudo='sudo() {
  while :; do
    case ${1:-} in
      -u) if [ "${2:-}" != root ]; then echo "k8s-cli: the image has no sudo, and sudo -u works for root only" >&2; return 1; fi; shift 2 ;;
      -g|-h|-p|-C|-D|-R|-T) shift 2 ;;
      --) shift; break ;;
      -*) shift ;;
      *) break ;;
    esac
  done
  case ${1:-} in *=*) env "$@" ;; *) "$@" ;; esac
}
'; fi
`

var sudoWord = regexp.MustCompile(`\bsudo\b`)

func usesSudo(t task.Spec) bool { return sudoWord.MatchString(t.Setup) || sudoWord.MatchString(t.Run) }

// finish is the part of the entrypoint that runs both scripts. If setup fails, finish writes
// so to the termination log, from which Kubernetes reads the termination message. If run
// fails, that message is the end of the output.
const finish = `k8s_cli_script ` + task.ScriptDir + `/setup
k8s_cli_code=$?
if [ $k8s_cli_code != 0 ]; then
  if [ -w /dev/termination-log ]; then echo "` + task.SetupFailed + `" >/dev/termination-log; fi
  exit $k8s_cli_code
fi
k8s_cli_script ` + task.ScriptDir + `/run
`

// escapeDollar prevents Kubernetes from rewriting s: in commands and values Kubernetes expands
// $(NAME) and replaces $$ with $.
func escapeDollar(s string) string { return strings.ReplaceAll(s, "$", "$$") }
