// Package objects turns tasks and volumes into Kubernetes objects. It is pure:
// the same record always gives the same objects, names included.
package objects

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
)

const (
	container     = "task"
	scriptsVolume = "scripts"
	gpuResource   = "nvidia.com/gpu"
)

// start finds the shell of the image, bash if there is one, and runs the
// launcher in it.
const start = `if command -v bash >/dev/null; then exec bash -c "$0" bash "$@"; fi; exec sh -c "$0" sh "$@"`

// launcher runs the two scripts of a task one after the other, in the working
// directory that $1 names, with the shell that it runs in itself: run only if
// setup succeeded. As process 1 of its container it passes SIGTERM on to all
// others, which get the grace period to end, where a shell would ignore it.
// Bash's job control (-m) keeps a script from beginning with SIGINT ignored, as
// what a shell starts in the background otherwise does. The launcher is the
// same for all tasks, so nothing needs quoting.
const launcher = `set -u
case $1 in "~") dir=${HOME:-/} ;; "~/"*) dir=${HOME:-/}/${1#"~/"} ;; -*) dir=./$1 ;; *) dir=$1 ;; esac
if [ -n "$dir" ]; then cd "$dir" || exit; fi
ending=
trap 'ending=yes; trap "" TERM; if [ $$ = 1 ]; then kill -TERM -1; else kill -TERM ${!:-}; fi' TERM
script() {
  if ! [ -s "$1" ]; then return 0; fi
  if [ -n "$ending" ]; then return 143; fi # after SIGTERM nothing begins, whatever setup made of it
  if [ -n "${BASH_VERSION:-}" ]; then set -m; fi
  "$0" "$1" &
  pid=$!
  set +m
  wait $pid
  code=$?
  if [ -n "$ending" ]; then # SIGTERM, which comes through once, may have ended wait before the script
    wait $pid
    again=$?
    if [ $again != 127 ]; then code=$again; fi # else wait had given its word already
  fi
  while [ -n "$ending" ] && [ $$ = 1 ] && kill -0 -1 2>/dev/null; do sleep 0.1; done
  return $code
}
script ` + task.ScriptDir + `/setup && script ` + task.ScriptDir + `/run
`

// Jobs returns the Jobs of a task that was not applied yet, by rank. Those of
// several nodes are suspended until all of them exist.
func Jobs(r *task.Record, namespace string) []*batchv1.Job {
	jobs := make([]*batchv1.Job, r.NumNodes())
	for rank, name := range r.JobNames() {
		jobs[rank] = &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{
				Name:        name,
				Namespace:   namespace,
				Labels:      task.JobLabels(r.Submit.User, r.Submit.Task.Name, r.Submit.ID, rank),
				Annotations: jobAnnotations(r),
			},
			Spec: batchv1.JobSpec{
				BackoffLimit: new(int32(0)),
				Suspend:      new(len(jobs) > 1),
				Template:     pod(r, rank),
			},
		}
	}
	return jobs
}

func jobAnnotations(r *task.Record) map[string]string {
	return map[string]string{
		task.AnnotationCreated:    r.CreatedAt.Format(time.RFC3339Nano),
		task.AnnotationNodes:      strconv.Itoa(r.NumNodes()),
		task.AnnotationUser:       r.Submit.User,
		task.AnnotationName:       r.Name(),
		task.AnnotationSubmission: r.Hash,
	}
}

func pod(r *task.Record, rank int) corev1.PodTemplateSpec {
	t := r.Submit.Task
	volumes, mounts := storage(t.Volumes, r.Claims)
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      task.JobLabels(r.Submit.User, t.Name, r.Submit.ID, rank),
			Annotations: map[string]string{task.AnnotationSetup: t.Setup, task.AnnotationRun: t.Run},
		},
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			AutomountServiceAccountToken: new(false),
			EnableServiceLinks:           new(false),
			Volumes:                      volumes,
			Containers: []corev1.Container{{
				Name:         container,
				Image:        r.Submit.Image,
				Command:      []string{"/bin/sh", "-c", literal(start), literal(launcher)},
				Args:         []string{literal(t.Workdir)},
				Env:          environment(t, rank),
				Resources:    resources(t.Resources),
				VolumeMounts: mounts,
			}},
		},
	}
}

// literal keeps Kubernetes from rewriting s: in commands and values it expands
// $(NAME) and turns $$ into $.
func literal(s string) string { return strings.ReplaceAll(s, "$", "$$") }

// environment returns the variables of one node; those of the launcher win.
func environment(t task.Task, rank int) []corev1.EnvVar {
	node, nodes := strconv.Itoa(rank), strconv.Itoa(t.Nodes())
	injected := []corev1.EnvVar{
		{Name: "NODE_RANK", Value: node},
		{Name: "NUM_NODES", Value: nodes},
		{Name: "SKYPILOT_NODE_RANK", Value: node},
		{Name: "SKYPILOT_NUM_NODES", Value: nodes},
	}
	env := make([]corev1.EnvVar, 0, len(t.Envs)+len(injected))
	for _, name := range slices.Sorted(maps.Keys(t.Envs)) {
		if !slices.ContainsFunc(injected, func(v corev1.EnvVar) bool { return v.Name == name }) {
			env = append(env, corev1.EnvVar{Name: name, Value: literal(t.Envs[name])})
		}
	}
	return append(env, injected...)
}

// resources returns what one node asks for: processor and memory as requests
// and limits, accelerators as limits. The task has been validated.
func resources(r task.Resources) corev1.ResourceRequirements {
	both := corev1.ResourceList{}
	if cpu, err := r.CPU(); err == nil && cpu != "" {
		both[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	if ram, err := r.RAM(); err == nil && ram != "" {
		both[corev1.ResourceMemory] = resource.MustParse(ram)
	}
	limits := maps.Clone(both)
	if _, gpus, err := r.GPUs(); err == nil && gpus > 0 {
		limits[gpuResource] = *resource.NewQuantity(int64(gpus), resource.DecimalSI)
	}
	return corev1.ResourceRequirements{Requests: both, Limits: limits}
}

// storage returns the pod's volumes and where they are mounted: the scripts,
// and the claims of the task, each once.
func storage(mountPoints, claims map[string]string) ([]corev1.Volume, []corev1.VolumeMount) {
	volumes := []corev1.Volume{{Name: scriptsVolume, VolumeSource: corev1.VolumeSource{
		DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
			script("setup", task.AnnotationSetup),
			script("run", task.AnnotationRun),
		}},
	}}}
	mounts := []corev1.VolumeMount{{Name: scriptsVolume, MountPath: task.ScriptDir, ReadOnly: true}}
	names := map[string]string{} // of pod volumes, by claim
	for _, dir := range slices.Sorted(maps.Keys(mountPoints)) {
		claim := claims[mountPoints[dir]]
		if names[claim] == "" {
			names[claim] = "volume-" + strconv.Itoa(len(names))
			volumes = append(volumes, corev1.Volume{Name: names[claim], VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
			}})
		}
		mounts = append(mounts, corev1.VolumeMount{Name: names[claim], MountPath: path.Clean(dir)})
	}
	return volumes, mounts
}

// script hands an annotation of the pod over as a file, byte for byte.
func script(name, annotation string) corev1.DownwardAPIVolumeFile {
	return corev1.DownwardAPIVolumeFile{
		Path:     name,
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + annotation + "']"},
	}
}
