package objects

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/task"
)

// Constants of the scripts that handle uploads.
const (
	filesVolume    = "uploads" // an emptyDir that the init container fills and the container of the task reads
	filesContainer = "files"

	// FilesKey is the key of the token in the Secret of a task. No variable has this name.
	FilesKey = "files.token"

	fetchTimeout = "600" // seconds of attempts for all archives of a pod
	fetchRefused = "6"   // rejections after which the script gives up; the first ones may come from a server that lags behind
)

// transferTools is the part of the scripts that repeats transfers. After a failed transfer, again
// sets why to the reason, waits, and returns 0 if the script should retry: for $left seconds in
// all, but no longer after $1 rejections. again waits for the time in Retry-After plus a time that
// depends on the name of the pod, because all pods of a task begin at once. wget does not report
// Retry-After. The output of the program for the transfer is in why and head below $dir; $base is
// the shortest pause.
const transferTools = `have() { command -v "$1" >/dev/null 2>&1; }
set_seed() {
  seed=7 text=${HOSTNAME:-$$}
  while [ -n "$text" ]; do
    rest=${text#?}
    seed=$(((seed * 31 + $(printf %d "'${text%"$rest"}")) % 65537))
    text=$rest
  done
}
again() {
  why= line= after=0
  while read -r line || [ -n "$line" ]; do
    case $line in
      [Rr]etry-[Aa]fter:*) after=${line#*:} ;;
      *) why=${line:-$why} ;;
    esac
  done <"$dir/why"
  while read -r line; do
    case $line in [Rr]etry-[Aa]fter:*) after=${line#*:} ;; esac
  done <"$dir/head"
  after=${after# }
  after=${after%%[!0-9]*}
  case $after in ???*) after=60 ;; esac
  case $why in
    *"rror: 429"*|*"RROR 429"*|*"rror 429"*|*"HTTP/1."[01]" 429"*) ;; # the user has other transfers
    *"rror: 4"*|*"RROR 4"*|*"rror 4"*|*"HTTP/1."[01]" 4"*) refused=$((refused + 1)) ;;
  esac
  if [ $left -le 0 ] || [ $refused -ge "$1" ]; then return 1; fi
  pause=$base
  if [ "${after:-0}" -gt $pause ]; then pause=$after; fi
  seed=$(((seed * 75 + 74) % 65537))
  pause=$((pause + seed % (pause + 1)))
  sleep $pause &
  wait $!
  left=$((left - pause))
  if [ $base -lt 16 ]; then base=$((base * 2)); fi
}
`

// fetchFiles is the script that downloads and unpacks the archives of a task before the
// container of the task starts. The script runs in the same image and uses what the image has:
// curl, wget, Python or bash, and tar or Python. $1 is the URL of the server, $2 is the id of
// the task, and the other arguments are the names of the archives, which are SHA-256 sums. The
// token is in the environment.
//
// The script retries for fetchTimeout, because the server may be unavailable or busy. The reason of
// a failure is the only text in the termination message, for the status of the task.
const fetchFiles = `set -u
trap 'exit 143' TERM
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
dir=` + task.FilesDir + ` from=$1/tasks/$2/files left=` + fetchTimeout + ` refused=0
` + transferTools + `set_seed
fail() {
  echo "k8s-cli: $1" >&2
  { printf %s "$1" >/dev/termination-log; } 2>/dev/null
  exit 1
}
raw() { # what bash has where there is no program
  rest=${1#http://} host=${1#http://}
  host=${host%%/*}
  name=${host%:*} port=${host##*:}
  if [ "$name" = "$port" ]; then port=80; fi
  exec 3<>"/dev/tcp/$name/$port" || return
  printf 'GET /%s HTTP/1.0\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n' "${rest#*/}" "$host" "$FILES_TOKEN" >&3
  read -r status <&3
  while read -r line <&3 && [ "$line" != $'\r' ]; do
    case $line in [Rr]etry-[Aa]fter:*) echo "$line" >&2 ;; esac
  done
  case $status in *" 200 "*) cat <&3 ;; *) echo "$status" >&2; return 1 ;; esac
}
get() {
  if have curl; then curl -fsS -D "$dir/head" --connect-timeout 10 --speed-limit 1 --speed-time 60 -H "Authorization: Bearer $FILES_TOKEN" -o "$2" "$1"
  elif have wget; then wget -q -O "$2" --header "Authorization: Bearer $FILES_TOKEN" "$1"
  elif have python3; then python3 -c 'import os, shutil, sys, urllib.request as u
q = u.Request(sys.argv[1], headers={"Authorization": "Bearer " + os.environ["FILES_TOKEN"]})
try: r = u.urlopen(q, timeout=60)
except u.HTTPError as e: sys.exit("Retry-After: %s\n%s" % (e.headers.get("Retry-After", ""), e))
shutil.copyfileobj(r, open(sys.argv[2], "wb"))' "$1" "$2"
  else raw "$1" >"$2"; fi
}
unpack() {
  if have tar && { have gzip || ! tar --version 2>/dev/null | grep -q GNU; }; then tar -xzof "$1" -C "$2"
  else python3 -c 'import sys, tarfile
t = tarfile.open(sys.argv[1])
t.extraction_filter = lambda member, path: member
t.extractall(sys.argv[2])' "$1" "$2"; fi
}
have curl || have wget || have python3 || { [ -n "${BASH_VERSION:-}" ] && case $1 in http://*) have cat ;; *) false ;; esac; } ||
  fail "the image has no program to download the files of the task; install curl, wget or python3 in the image"
have tar || have python3 || fail "the image has no program to unpack the files of the task; install tar and gzip, or python3, in the image"
shift 2
for sum; do
  base=1
  while :; do
    : >"$dir/head"
    get "$from/$sum" "$dir/archive" 2>"$dir/why" &
    if wait $!; then
      have sha256sum || break
      case $(sha256sum "$dir/archive") in "$sum "*) break ;; esac
      echo "the download differs from the upload" >"$dir/why"
    fi
    if ! again ` + fetchRefused + `; then fail "cannot get the files of the task from $from: $why"; fi
  done
  mkdir -p "$dir/$sum" && (umask 0; unpack "$dir/archive" "$dir/$sum") >"$dir/why" 2>&1 ||
    fail "cannot unpack an archive of the task's files; the archive must be a tar.gz and fit on the machine's disk: $(cat "$dir/why")"
done
rm -f "$dir/archive" "$dir/head" "$dir/why"
`

// copyFiles is the part of the entrypoint that copies the unpacked files to their targets: $4
// is the first archive, $5 its target, and so on. A directory that the image has keeps its mode.
const copyFiles = `k8s_cli_place() {
  shift 3
  while [ $# -gt 0 ]; do
    k8s_cli_from=` + task.FilesDir + `/$1
    case $2 in "~/"*) k8s_cli_to=${HOME:-/}/${2#"~/"} ;; *) k8s_cli_to=$2 ;; esac
    if ! [ -f "$k8s_cli_from/` + task.SingleFile + `" ]; then
      k8s_cli_mode=$(command -p stat -c %a "$k8s_cli_to" 2>/dev/null)
      command -p mkdir -p "$k8s_cli_to" && (umask 0; command -p cp -RPpf "$k8s_cli_from/." "$k8s_cli_to") &&
        { [ -z "$k8s_cli_mode" ] || command -p chmod "$k8s_cli_mode" "$k8s_cli_to"; }
    elif [ -d "$k8s_cli_to" ]; then
      echo "it is a directory" >&2
      false
    else
      command -p mkdir -p "${k8s_cli_to%/*}/" && (umask 0; command -p cp -pf "$k8s_cli_from/` + task.SingleFile + `" "$k8s_cli_to")
    fi || {
      k8s_cli_why="cannot put the task's files at $2 ($k8s_cli_to in the container); check that the container's user may write there"
      echo "k8s-cli: $k8s_cli_why" >&2
      { echo "k8s-cli: $k8s_cli_why" >/dev/termination-log; } 2>/dev/null
      exit 1
    }
    shift 2
  done
}
k8s_cli_place "$@"
`

// fileArgs returns the arguments of the entrypoint that name archives and targets.
func fileArgs(r *task.Record) (args []string) {
	uploads := r.Submit.Task.Uploads
	for _, target := range slices.Sorted(maps.Keys(uploads)) { // a directory comes before its contents
		if r.Submit.Task.Buckets.Gets(target) {
			continue
		}
		args = append(args, uploads[target], escapeDollar(target))
	}
	return args
}

// addFiles adds the volume for uploads to the pod of a task with uploads. fetch adds the init
// container that fills the volume, after the rest of the pod is final.
func addFiles(r *task.Record, spec *corev1.PodSpec) {
	if len(r.Submit.Task.Uploads) == 0 {
		return
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: filesVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	c := &spec.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: filesVolume, MountPath: task.FilesDir})
}

// fetch adds the init container that fetches the uploads of a task. The init container has the
// image, the security context and the resources of the task's container.
func fetch(r *task.Record, spec *corev1.PodSpec) {
	sums := r.Submit.Task.Sums()
	if len(sums) == 0 {
		return
	}
	main := spec.Containers[0]
	spec.InitContainers = []corev1.Container{{
		Name:            filesContainer,
		Image:           main.Image,
		ImagePullPolicy: main.ImagePullPolicy,
		Command:         []string{"/bin/sh", "-c", escapeDollar(start), escapeDollar(fetchFiles)},
		Args:            append([]string{escapeDollar(r.Submit.Files), r.Submit.ID}, sums...),
		Env:             []corev1.EnvVar{{Name: "FILES_TOKEN", ValueFrom: secretValue(r, FilesKey)}},
		Resources:       *main.Resources.DeepCopy(),
		SecurityContext: main.SecurityContext.DeepCopy(),
		VolumeMounts:    []corev1.VolumeMount{{Name: filesVolume, MountPath: task.FilesDir}},
	}}
}
