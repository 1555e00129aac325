package objects

import (
	"strings"

	"k8s-cli/pkg/task"
)

// start finds the shell of the image, bash if there is one, and runs the
// launcher in it.
const start = `if command -v bash >/dev/null; then exec bash -c "$0" bash "$@"; fi; exec sh -c "$0" sh "$@"`

// entrypoint returns the script that runs the two scripts of a task one after the
// other, in the working directory that $1 names, with the shell that it runs in
// itself: run only if setup succeeded. args are its other arguments, and it has
// no part that they do not need: it stands in every Job and every pod. Of several
// nodes, $2 says how many there are and $3 what their Service is called: see
// peers. Where files go, and the working directory may be one of them, comes
// after those: see placer. Nothing of a task stands in it, so nothing needs
// quoting.
func entrypoint(args []string) string {
	s := "set -u\n"
	if len(args) > 2 {
		s += copyFiles
	}
	s += runner
	if len(args) > 0 && args[0] != "1" {
		s += peers
	}
	return s + finish
}

// runner is the part of the launcher that runs one script. As process 1 of its
// container it passes SIGTERM on to all others, which get the grace period to
// end, where a shell would ignore it. After SIGTERM nothing begins, whatever
// setup made of it; and wait, which it may have ended before the script, is
// repeated, since it comes through once: 127 is what wait says if it had given
// its word already.
// Bash's job control (-m) keeps a script from beginning with SIGINT ignored, as
// what a shell starts in the background otherwise does. In bash a script begins,
// as in SkyPilot, with what ~/.bashrc says, where setup may have put something
// and Conda does; PS1 is set meanwhile since many a .bashrc leaves without it,
// and gives it another value if not.
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

// finish is the part of the launcher that runs both. That it was setup that
// failed is said where Kubernetes reads a container's last words, which for run
// are the end of its output.
const finish = `script ` + task.ScriptDir + `/setup
code=$?
if [ $code != 0 ]; then
  if [ -w /dev/termination-log ]; then echo "` + task.SetupFailed + `" >/dev/termination-log; fi
  exit $code
fi
script ` + task.ScriptDir + `/run
`

// escapeDollar keeps Kubernetes from rewriting s: in commands and values it expands
// $(NAME) and turns $$ into $.
func escapeDollar(s string) string { return strings.ReplaceAll(s, "$", "$$") }
