package objects

import (
	"strings"

	"k8s-cli/pkg/task"
)

// start is the command that finds bash in the image, or sh otherwise, and runs the entrypoint
// in that shell.
const start = `if command -v bash >/dev/null; then exec bash -c "$0" bash "$@"; fi; exec sh -c "$0" sh "$@"`

// entrypoint returns the script that runs setup and then run, the latter only if setup
// succeeded. Both scripts run in the working directory $1 and in the shell of the entrypoint
// itself. args are the arguments after $1. The script contains only the parts that args and the
// outputs need, because every Job and every pod carries a copy. For several nodes, $2 is their number and $3
// is the name of their Service: see peers. The following arguments say where files are copied
// to; the working directory may be such a target: see copyFiles. parts run before the scripts. The
// script contains no text of the task, so nothing needs quoting.
func entrypoint(args []string, outputs bool, parts ...string) string {
	s := "set -u\n"
	if outputs {
		s += sendOutputs
	}
	if len(args) > 2 {
		s += copyFiles
	}
	s += runner
	if len(args) > 0 && args[0] != "1" {
		s += peers
	}
	return s + strings.Join(parts, "") + finish
}

// runner is the part of the entrypoint that runs one script. As process 1 of its container,
// the entrypoint passes SIGTERM on to all other processes, which then have the grace period to
// end; a plain shell would ignore SIGTERM. After SIGTERM no script begins, whatever the exit
// code of setup. SIGTERM may end wait before the script ends, so wait is repeated; the
// repeated wait returns 127 if the first one had already returned the exit code.
//
// Job control in bash (-m) prevents that a script begins with SIGINT ignored, as background
// processes of a shell otherwise do. In bash a script begins, as in SkyPilot, by reading
// ~/.bashrc, which setup or Conda may have changed. PS1 is set meanwhile, because many .bashrc
// files return at once without PS1; files that do not return set PS1 themselves.
const runner = `case $1 in "~") dir=${HOME:-/} ;; "~/"*) dir=${HOME:-/}/${1#"~/"} ;; -*) dir=./$1 ;; *) dir=$1 ;; esac
if [ -n "$dir" ]; then cd "$dir" || exit; fi
ending=
trap 'ending=yes; trap "" TERM; if [ $$ = 1 ]; then kill -TERM -1; else kill -TERM ${!:-}; fi' TERM
begin='if [ -r ~/.bashrc ]; then PS1=- k8s_cli_dir=$PWD; . ~/.bashrc; cd "$k8s_cli_dir"; fi; unset PS1 k8s_cli_dir; . "$0"'
script() {
  if ! [ -s "$1" ]; then return 0; fi
  if [ -n "$ending" ]; then return 143; fi
  if [ -n "${BASH_VERSION:-}" ]; then set -m; set -- -c "$begin" "$1"; fi
  "$0" "$@" &
  pid=$!
  set +m
  wait $pid
  code=$?
  if [ -n "$ending" ]; then
    wait $pid
    again=$?
    if [ $again != 127 ]; then code=$again; fi
  fi
  while [ -n "$ending" ] && [ $$ = 1 ] && kill -0 -1 2>/dev/null; do sleep 0.1; done
  return $code
}
`

// finish is the part of the entrypoint that runs both scripts. If setup fails, finish writes
// so to the termination log, from which Kubernetes reads the termination message. If run
// fails, that message is the end of the output.
const finish = `script ` + task.ScriptDir + `/setup
code=$?
if [ $code != 0 ]; then
  if [ -w /dev/termination-log ]; then echo "` + task.SetupFailed + `" >/dev/termination-log; fi
  exit $code
fi
script ` + task.ScriptDir + `/run
`

// escapeDollar prevents Kubernetes from rewriting s: in commands and values Kubernetes expands
// $(NAME) and replaces $$ with $.
func escapeDollar(s string) string { return strings.ReplaceAll(s, "$", "$$") }
