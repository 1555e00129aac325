package objects

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/outputs"
)

// Constants of the script that sends the outputs of a node.
const (
	outputsVolume = "outputs" // an emptyDir in which the entrypoint packs the outputs

	sendTimeout = "300" // seconds of attempts to send the outputs
)

// The variables with which the entrypoint of a task with outputs begins. The scripts of the task do
// not see these variables.
const (
	outputPathsEnv = "K8S_CLI_OUTPUTS" // one path in each line
	outputURLEnv   = "K8S_CLI_OUTPUTS_URL"
	outputTokenEnv = "K8S_CLI_OUTPUTS_TOKEN"
	outputLimitEnv = "K8S_CLI_OUTPUTS_LIMIT" // bytes
	outputPodEnv   = "K8S_CLI_OUTPUTS_POD"   // UID of the pod, for the URL
)

// sendOutputs is the part of the entrypoint that packs and sends the outputs of the node when the
// shell exits, whatever the exit code is. The exit code stays the same even if the outputs cannot
// be sent. The script uses what the image has: tar or Python, and curl, Python, wget, nc or bash.
// The server stores the archive only if the script sends all of it.
//
// SIGTERM does not interrupt the script: the script may use the rest of the grace period.
const sendOutputs = `k8s_cli_paths=$` + outputPathsEnv + ` k8s_cli_url=$` + outputURLEnv + ` k8s_cli_token=$` + outputTokenEnv + ` k8s_cli_limit=$` + outputLimitEnv + `
unset ` + outputPathsEnv + ` ` + outputURLEnv + ` ` + outputTokenEnv + ` ` + outputLimitEnv + ` ` + outputPodEnv + `
` + transferTools + `pack_outputs() {
  if have tar && { have gzip || ! tar --version 2>/dev/null | grep -q GNU; }; then tar -czf - -- "$@"; return; fi
  python3 -c 'import sys, tarfile
t = tarfile.open(fileobj=sys.stdout.buffer, mode="w|gz")
for name in sys.argv[1:]: t.add(name)
t.close()' "$@" || return 9
}
put_raw() {
  rest=${1#http://}
  host=${rest%%/*}
  name=${host%:*} port=${host##*:}
  if [ "$name" = "$port" ]; then port=80; fi
  request() {
    printf 'PUT /%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/gzip\r\nContent-Length: %s\r\nConnection: close\r\n\r\n' "${rest#*/}" "$host" "$k8s_cli_token" "$size"
    cat "$dir/archive"
  }
  if have nc; then request | nc -w 60 "$name" "$port" >"$dir/head"
  elif [ -z "${BASH_VERSION:-}" ]; then
    echo "cannot send the outputs; the image needs curl, python3, GNU wget, nc or bash" >&2
    return 1
  else
    exec 3<>"/dev/tcp/$name/$port" || return
    request >&3
    while IFS= read -r -t 60 line <&3; do printf '%s\n' "$line"; done >"$dir/head"
    exec 3>&-
  fi
  read -r status <"$dir/head"
  case $status in *" 200 "*) ;; *) echo "$status" >&2; return 1 ;; esac
}
put() {
  if have curl; then curl -fsS -D "$dir/head" -o /dev/null --connect-timeout 10 --speed-limit 1 --speed-time 60 -H "Authorization: Bearer $k8s_cli_token" -H "Content-Type: application/gzip" -T "$dir/archive" "$1"
  elif have python3; then TOKEN=$k8s_cli_token python3 -c 'import os, sys, urllib.request as u
q = u.Request(sys.argv[1], data=open(sys.argv[2], "rb"), method="PUT", headers={
  "Authorization": "Bearer " + os.environ["TOKEN"], "Content-Type": "application/gzip", "Content-Length": str(os.path.getsize(sys.argv[2]))})
try: u.urlopen(q, timeout=60)
except u.HTTPError as e: sys.exit("Retry-After: %s\n%s" % (e.headers.get("Retry-After", ""), e))' "$1" "$dir/archive"
  elif wget --help 2>&1 | grep -q -e --body-file; then wget -nv -O /dev/null --tries=1 --method=PUT --body-file="$dir/archive" --header "Authorization: Bearer $k8s_cli_token" --header "Content-Type: application/gzip" "$1"
  else put_raw "$1"; fi
}
send_outputs() {
  code=$?
  trap - EXIT
  trap "" TERM
  set_seed
  unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
  set -f
  IFS='
'
  set --
  dir=` + outputs.Dir + ` missing= n=0 query= size=0
  for path in $k8s_cli_paths; do
    case $path in "~") path=${HOME:-/} ;; "~/"*) path=${HOME:-/}/${path#"~/"} ;; esac
    if [ -e "$path" ] || [ -L "$path" ]; then set -- "$@" "$path"; else missing=$missing${missing:+,}$n; fi
    n=$((n + 1))
  done
  unset IFS
  true >"$dir/archive"
  if [ $# -gt 0 ]; then
    { pack_outputs "$@" 2>"$dir/why"; echo $? >"$dir/code"; } | head -c $((k8s_cli_limit + 1)) >"$dir/archive"
    head_code=$? packed=
    read -r packed <"$dir/code"
    size=$(($(wc -c <"$dir/archive")))
    if [ "$packed" != 0 ] && [ $size -le "$k8s_cli_limit" ]; then cat "$dir/why" >&2; fi
    if [ $head_code != 0 ] || [ $size = 0 ] || [ "${packed:-9}" -gt 2 ] && [ $size -le "$k8s_cli_limit" ] || { [ "$packed" = 2 ] && [ $size -le "$k8s_cli_limit" ] && have gzip && ! gzip -t "$dir/archive" 2>/dev/null; }; then
      echo "k8s-cli: cannot pack the outputs; the image needs head, wc, and tar with gzip or python3" >&2
      query="&failed=pack"
    elif [ $size -gt "$k8s_cli_limit" ]; then
      echo "k8s-cli: the packed outputs are larger than $k8s_cli_limit bytes, the limit of the server; they were not stored" >&2
      query="&failed=size"
    fi
    if [ -n "$query" ]; then
      true >"$dir/archive"
      size=0
    fi
  fi
  if [ -n "$missing" ] && [ -z "$query" ]; then query="&missing=$missing"; fi
  left=` + sendTimeout + ` refused=0 base=1
  while :; do
    true >"$dir/head"
    if put "$k8s_cli_url$query" 2>"$dir/why"; then break; fi
    if ! again 1; then
      if [ -z "$query" ] || [ "$query" = "&missing=$missing" ]; then echo "k8s-cli: the outputs were not stored: $why" >&2; fi
      break
    fi
  done
  rm -f "$dir/archive"
  exit $code
}
trap send_outputs EXIT
`

// outputPath returns the path of the outputs of one node below the URL of the server.
func outputPath(id string, rank int) string {
	return "/tasks/" + id + "/outputs/" + strconv.Itoa(rank)
}

// OutputKey returns the key of the token of one node in the Secret of a task. No variable has this
// name.
func OutputKey(rank int) string { return "outputs.token-" + strconv.Itoa(rank) }

// addOutputs adds to the pod of a task with outputs what its entrypoint needs.
func addOutputs(r *task.Record, rank int, spec *corev1.PodSpec) {
	paths := r.Submit.Task.Outputs
	if len(paths) == 0 {
		return
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: outputsVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	c := &spec.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: outputsVolume, MountPath: outputs.Dir})
	c.Env = append(c.Env,
		corev1.EnvVar{Name: outputPathsEnv, Value: escapeDollar(strings.Join(paths, "\n"))},
		corev1.EnvVar{Name: outputPodEnv, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.uid"}}},
		corev1.EnvVar{Name: outputURLEnv, Value: escapeDollar(r.Submit.Files+outputPath(r.Submit.ID, rank)) + "?pod=$(" + outputPodEnv + ")"},
		corev1.EnvVar{Name: outputLimitEnv, Value: strconv.FormatInt(r.Submit.OutputLimit, 10)},
		corev1.EnvVar{Name: outputTokenEnv, ValueFrom: secretValue(r, OutputKey(rank))},
	)
}
