package objects

import (
	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/task"
)

const (
	groupHostsFile = "jobgroup-hosts" // beside the scripts: lines of /etc/hosts, one for each node of the job group
	hostsInterval  = "5"              // seconds between two looks at the file
)

// groupHosts is the part of the entrypoint for a task of a job group. The nodes of a job group
// reach each other as {task}-{rank}.{job group}. Such names cannot be names of the cluster's DNS:
// there, the part after the dot is a Service, and two job groups of one name may run at once in
// the namespace. So each pod has the names of its own job group in its /etc/hosts.
//
// The addresses come from the controller as a file, as for several nodes of a task. The part waits
// for the file before a script begins, and then follows its changes: a node that starts again has
// another address. If the user of the container may not write /etc/hosts, the part says where the
// addresses are.
const groupHosts = `k8s_cli_left=` + peersTimeout + `
while ! [ -s ` + task.ScriptDir + `/` + groupHostsFile + ` ]; do
  if [ $k8s_cli_left -le 0 ]; then
    k8s_cli_why="gave up waiting: after ` + peersTimeout + ` s, some nodes of the job group have no address; the status of its tasks says what they wait for"
    echo "k8s-cli: $k8s_cli_why" >&2
    { echo "k8s-cli: $k8s_cli_why" >/dev/termination-log; } 2>/dev/null
    exit 1
  fi
  if [ -n "$k8s_cli_ending" ]; then exit 143; fi
  k8s_cli_pause 1
  k8s_cli_left=$((k8s_cli_left - 1))
done
k8s_cli_own=$(cat ` + hostsFile + `)
k8s_cli_write() {
  k8s_cli_last=$(cat ` + task.ScriptDir + `/` + groupHostsFile + `)
  printf '%s\n%s\n' "$k8s_cli_own" "$k8s_cli_last" >` + hostsFile + `
}
if [ -w ` + hostsFile + ` ]; then
  k8s_cli_write
  while kill -0 $$; do
    k8s_cli_pause ` + hostsInterval + `
    if [ "$k8s_cli_last" != "$(cat ` + task.ScriptDir + `/` + groupHostsFile + `)" ]; then k8s_cli_write; fi
  done >/dev/null 2>&1 </dev/null &
else
  echo "k8s-cli: the user of this container may not write ` + hostsFile + `, so the names of the job group do not resolve; their addresses are in ` + task.ScriptDir + `/` + groupHostsFile + `" >&2
fi
`

// groupFile makes the names and addresses of a job group a file beside the scripts, as soon as the
// annotation of the pod has them.
func groupFile(r *task.Record) []corev1.DownwardAPIVolumeFile {
	if r.Submit.JobGroup == nil {
		return nil
	}
	return []corev1.DownwardAPIVolumeFile{script(groupHostsFile, task.AnnotationGroupHosts)}
}
