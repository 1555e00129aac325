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
const groupHosts = `left=` + peersTimeout + `
while ! [ -s ` + task.ScriptDir + `/` + groupHostsFile + ` ]; do
  if [ $left -le 0 ]; then
    why="gave up waiting: after ` + peersTimeout + ` s, some nodes of the job group have no address; the status of its tasks says what they wait for"
    echo "k8s-cli: $why" >&2
    { echo "k8s-cli: $why" >/dev/termination-log; } 2>/dev/null
    exit 1
  fi
  if [ -n "$ending" ]; then exit 143; fi
  sleep 1
  left=$((left - 1))
done
own=$(cat ` + hostsFile + `)
write() {
  last=$(cat ` + task.ScriptDir + `/` + groupHostsFile + `)
  printf '%s\n%s\n' "$own" "$last" >` + hostsFile + `
}
if [ -w ` + hostsFile + ` ]; then
  write
  while kill -0 $$; do
    sleep ` + hostsInterval + `
    if [ "$last" != "$(cat ` + task.ScriptDir + `/` + groupHostsFile + `)" ]; then write; fi
  done >/dev/null 2>&1 </dev/null &
else
  echo "k8s-cli: the user of this container may not write ` + hostsFile + `, so the names of the job group do not resolve; their addresses are in ` + task.ScriptDir + `/` + groupHostsFile + `" >&2
fi
`

// groupParts returns the part of the entrypoint for the job group of a task.
func groupParts(r *task.Record) []string {
	if r.Submit.JobGroup == nil {
		return nil
	}
	return []string{groupHosts}
}

// groupFile makes the names and addresses of a job group a file beside the scripts, as soon as the
// annotation of the pod has them.
func groupFile(r *task.Record) []corev1.DownwardAPIVolumeFile {
	if r.Submit.JobGroup == nil {
		return nil
	}
	return []corev1.DownwardAPIVolumeFile{script(groupHostsFile, task.AnnotationGroupHosts)}
}
