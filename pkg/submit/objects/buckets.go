package objects

import (
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/bucket"
)

// Constants of the containers that move the data of buckets.
const (
	bucketsEnv  = task.BucketsEnv    // see linkBuckets
	transferEnv = "K8S_CLI_TRANSFER" // the buckets, for the program in the image

	transferMemory = "512Mi" // least memory of the program, if the containers of the task have a limit
	senderCPU      = "100m"

	// controlDir contains the files by which the container of the task and the container that sends
	// changed files communicate.
	controlDir    = bucket.Dir + "/control"
	controlVolume = "bucket-control"
	senderTimeout = "120" // seconds without a change of the file alive after which the node fails
)

// linkBuckets is the part of the entrypoint that makes the buckets in the home directory symbolic
// links to their volumes, because the home directory is known only in the container. Each line of
// K8S_CLI_BUCKETS contains the number of a bucket and its path.
const linkBuckets = `k8s_cli_buckets=$` + bucketsEnv + `
unset ` + bucketsEnv + `
while read -r k8s_cli_n k8s_cli_path; do
  k8s_cli_from=` + bucket.Dir + `/$k8s_cli_n k8s_cli_to=${HOME:-/}/${k8s_cli_path#"~/"}
  if [ "$k8s_cli_to" -ef "$k8s_cli_from" ]; then continue; fi
  if [ -d "$k8s_cli_to" ] && ! [ -L "$k8s_cli_to" ]; then command -p rmdir "$k8s_cli_to" 2>/dev/null; fi
  if ! [ -e "$k8s_cli_to" ] && command -p mkdir -p "${k8s_cli_to%/*}/" && command -p ln -sfn "$k8s_cli_from" "$k8s_cli_to"; then continue; fi
  k8s_cli_why="cannot put a bucket at $k8s_cli_path ($k8s_cli_to in the container); choose a path that does not exist in the image, and where the user of the container may write, or an absolute path"
  echo "k8s-cli: $k8s_cli_why" >&2
  { echo "k8s-cli: $k8s_cli_why" >/dev/termination-log; } 2>/dev/null
  exit 1
done <<END
$k8s_cli_buckets
END
`

// storeBuckets is the part of the entrypoint that waits at its end, whatever the exit code is, until
// the sidecar has sent all changed files to their buckets. If files were not sent, the node fails. The
// sidecar changes the file alive while it works; Kubernetes starts a sidecar that ended again.
const storeBuckets = `status() { return "$1"; }
store_buckets() {
  code=$?
  trap - EXIT
  trap "" TERM
  control=` + controlDir + ` left=` + senderTimeout + ` alive= now= why=
  true >"$control/done"
  until [ -s "$control/result" ] || [ $left -le 0 ]; do
    { read -r now <"$control/alive"; } 2>/dev/null
    left=$((left - 1))
    if [ "$now" != "$alive" ]; then left=` + senderTimeout + ` alive=$now; fi
    command -p sleep 1
  done
  if [ -s "$control/result" ]; then read -r why <"$control/result"; else why="the container ` + task.SenderContainer + ` has not responded for ` + senderTimeout + ` s"; fi
  if [ "$why" != stored ]; then
    why="` + task.NotSent + `$why"
    echo "k8s-cli: $why" >&2
    if [ $code = 0 ]; then
      { echo "k8s-cli: $why" >/dev/termination-log; } 2>/dev/null
      code=1
    fi
  fi
  if command -v send_outputs >/dev/null; then
    status $code
    send_outputs
  fi
  exit $code
}
trap store_buckets EXIT
`

// A plan describes the buckets for the program that moves their data.
type plan struct {
	Max     int64           `json:"max"`
	Control string          `json:"control,omitempty"`
	Buckets []plannedBucket `json:"buckets"`
}

type plannedBucket struct {
	URL    string            `json:"url"`
	Dir    string            `json:"dir"`
	Send   bool              `json:"send,omitempty"`
	Create bool              `json:"create,omitempty"`
	Files  map[string]string `json:"files,omitempty"`  // directories with files for the bucket, by their path in the bucket
	Secret string            `json:"secret,omitempty"` // name of the Secret with the credentials, for messages

	bucket.Remote
}

// planOf returns the plan for the buckets of a task.
func planOf(r *task.Record) plan {
	m := r.Submit.Task.Buckets
	p := plan{Max: r.Submit.Transfer.Max}
	if m.Send() {
		p.Control = controlDir
	}
	for i, target := range m.Paths() {
		source := m[target]
		remote, _ := bucket.ParseURL(source.URL) // package task has checked the URL
		b := plannedBucket{URL: source.URL, Dir: bucketDir(i), Send: source.Sends(), Create: source.Create, Secret: r.Submit.Transfer.Secrets[target], Remote: remote}
		if b.Secret != "" {
			b.Remote = remote.Renamed(rulePrefix(i))
		}
		for file, sum := range r.Submit.Task.Uploads {
			if at, found := m.Around(file); !found || at != target || !source.Create {
				continue
			}
			if b.Files == nil {
				b.Files = map[string]string{}
			}
			b.Files[strings.TrimPrefix(strings.TrimPrefix(file, target), "/")] = path.Join(task.FilesDir, sum)
		}
		p.Buckets = append(p.Buckets, b)
	}
	return p
}

// rulePrefix returns the beginning of the names of the variables that the container that moves data
// gets from the Secret of a rule. The variables of the task, such as an endpoint, have other names, so
// that the credentials are sent to no other server.
func rulePrefix(i int) string { return "K8S_CLI_RULE_" + strconv.Itoa(i) + "_" }

func bucketDir(i int) string { return path.Join(bucket.Dir, strconv.Itoa(i)) }

func bucketVolume(i int) string { return "bucket-" + strconv.Itoa(i) }

// bucketLinks returns the lines for linkBuckets, "" if no bucket is in the home directory.
func bucketLinks(t task.Spec) string {
	var lines []string
	for i, target := range t.Buckets.Paths() {
		if strings.HasPrefix(target, "~/") {
			lines = append(lines, strconv.Itoa(i)+" "+target)
		}
	}
	return strings.Join(lines, "\n")
}

// addBuckets adds a volume for each bucket of a task to its pod. moveBuckets adds the containers that
// use the volumes, after the rest of the pod is final.
func addBuckets(r *task.Record, spec *corev1.PodSpec) {
	m, c := r.Submit.Task.Buckets, &spec.Containers[0]
	add := func(name, at string) {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: at})
	}
	for i, target := range m.Paths() {
		if strings.HasPrefix(target, "~/") {
			target = bucketDir(i)
		}
		add(bucketVolume(i), target)
	}
	if m.Send() {
		add(controlVolume, controlDir)
	}
	if links := bucketLinks(r.Submit.Task); links != "" {
		c.Env = append(c.Env, corev1.EnvVar{Name: bucketsEnv, Value: escapeDollar(links)})
	}
}

// moveBuckets adds the init container that copies the buckets of a task to their volumes, and the
// sidecar that sends changed files.
func moveBuckets(r *task.Record, spec *corev1.PodSpec) {
	m, main := r.Submit.Task.Buckets, spec.Containers[0]
	if len(m) == 0 {
		return
	}
	fetcher := corev1.Container{
		Name:            task.BucketsContainer,
		Image:           r.Submit.Transfer.Image,
		Args:            []string{"fetch"},
		Env:             transferVariables(r),
		Resources:       transferResources(main.Resources),
		SecurityContext: transferSecurity(spec.SecurityContext, main.SecurityContext),
	}
	for i := range m.Paths() {
		fetcher.VolumeMounts = append(fetcher.VolumeMounts, corev1.VolumeMount{Name: bucketVolume(i), MountPath: bucketDir(i)})
	}
	if m.Send() {
		fetcher.VolumeMounts = append(fetcher.VolumeMounts, corev1.VolumeMount{Name: controlVolume, MountPath: controlDir})
	}
	sender := *fetcher.DeepCopy()
	for target := range r.Submit.Task.Uploads {
		if m.Gets(target) {
			fetcher.VolumeMounts = append(fetcher.VolumeMounts, corev1.VolumeMount{Name: filesVolume, MountPath: task.FilesDir, ReadOnly: true})
			break
		}
	}
	spec.InitContainers = append(spec.InitContainers, fetcher)
	if m.Send() {
		sender.Name, sender.Args, sender.RestartPolicy = task.SenderContainer, []string{"send"}, new(corev1.ContainerRestartPolicyAlways)
		sender.Resources = senderResources(main.Resources)
		spec.InitContainers = append(spec.InitContainers, sender)
	}
}

// senderResources returns the resources of the sidecar, which Kubernetes adds to those of the task's
// container: a small request for each resource that the container requests.
func senderResources(of corev1.ResourceRequirements) corev1.ResourceRequirements {
	own := transferResources(of)
	for name, least := range map[corev1.ResourceName]string{corev1.ResourceCPU: senderCPU, corev1.ResourceMemory: transferMemory} {
		if _, requested := own.Requests[name]; requested {
			own.Requests[name] = resource.MustParse(least)
		}
	}
	if _, limited := own.Limits[corev1.ResourceMemory]; limited {
		own.Limits[corev1.ResourceMemory] = resource.MustParse(transferMemory)
	}
	delete(own.Requests, corev1.ResourceEphemeralStorage)
	delete(own.Limits, corev1.ResourceEphemeralStorage)
	return own
}

// transferVariables returns the plan, and the variables that the buckets of a task use: of the task,
// and of the Secrets of rules.
func transferVariables(r *task.Record) []corev1.EnvVar {
	t := r.Submit.Task
	raw, _ := json.Marshal(planOf(r)) // texts and numbers cannot fail
	env := []corev1.EnvVar{{Name: transferEnv, Value: escapeDollar(string(raw))}}
	credentials, settings := t.Buckets.Variables()
	for _, name := range append(credentials, settings...) {
		if _, secret := t.Secrets[name]; secret {
			env = append(env, corev1.EnvVar{Name: name, ValueFrom: secretValue(r, name)})
		} else if value, plain := t.Envs[name]; plain {
			env = append(env, corev1.EnvVar{Name: name, Value: escapeDollar(value)})
		}
	}
	return append(env, ruleVariables(r)...)
}

// ruleVariables returns the variables with the credentials of the Secrets of rules. A Secret need not
// have a value for each variable.
func ruleVariables(r *task.Record) (env []corev1.EnvVar) {
	m := r.Submit.Task.Buckets
	for i, target := range m.Paths() {
		secret := r.Submit.Transfer.Secrets[target]
		if secret == "" {
			continue
		}
		credentials, settings := bucket.Mounts{target: m[target]}.Variables()
		for _, name := range append(credentials, settings...) {
			env = append(env, corev1.EnvVar{Name: rulePrefix(i) + name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: name, Optional: new(true),
			}}})
		}
	}
	return env
}

// transferResources returns the resources of the task's container without devices, and with the
// memory that a transfer needs.
func transferResources(of corev1.ResourceRequirements) corev1.ResourceRequirements {
	own := *of.DeepCopy()
	own.Claims = nil
	for _, list := range []corev1.ResourceList{own.Requests, own.Limits} {
		for name, amount := range list {
			least := resource.MustParse(transferMemory)
			switch {
			case name == corev1.ResourceMemory && amount.Cmp(least) < 0:
				list[name] = least
			case !slices.Contains([]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}, name):
				delete(list, name)
			}
		}
	}
	return own
}

// transferSecurity returns the security context of the task's container. The program runs as the
// user of that container if the task names the user, and otherwise as root, as most images do, so
// that the container of the task can use the files.
func transferSecurity(pod *corev1.PodSecurityContext, of *corev1.SecurityContext) *corev1.SecurityContext {
	own := of.DeepCopy()
	named := own.RunAsUser != nil || pod != nil && pod.RunAsUser != nil
	nonRoot := own.RunAsNonRoot != nil && *own.RunAsNonRoot || pod != nil && pod.RunAsNonRoot != nil && *pod.RunAsNonRoot
	if !named && !nonRoot {
		own.RunAsUser, own.RunAsGroup = new(int64(0)), new(int64(0))
	}
	return own
}
