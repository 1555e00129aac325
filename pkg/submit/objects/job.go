// Package objects turns tasks and volumes into Kubernetes objects. The functions have no side
// effects: the same record always gives the same objects with the same names.
package objects

import (
	"encoding/json"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/placement"
	"k8s-cli/pkg/task"
)

const (
	container     = "task"
	scriptsVolume = "scripts"
)

// Jobs returns the Jobs of a task that is not applied yet, by rank. The Jobs of a gang are suspended
// until all of them exist.
func Jobs(r *task.Record, namespace string) []*batchv1.Job {
	jobs := make([]*batchv1.Job, r.NumNodes())
	for rank, name := range r.JobNames() {
		jobs[rank] = &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{
				Name:        name,
				Namespace:   namespace,
				Labels:      jobLabels(r, rank),
				Annotations: jobAnnotations(r),
			},
			Spec: batchv1.JobSpec{
				Suspend:  new(r.Gang()),
				Template: pod(r, rank),
			},
		}
		recovery(&jobs[rank].Spec, r.Submit.Resources().JobRecovery)
	}
	return jobs
}

func jobAnnotations(r *task.Record) map[string]string {
	all := mergeMaps(r.Submit.Task.Config.Kubernetes.CustomMetadata.Annotations, annotations(r))
	if limit := r.Submit.Task.MaxDuration; limit != "" {
		all[task.AnnotationMaxDuration] = limit
	}
	if g := r.Submit.JobGroup; g != nil {
		raw, _ := json.Marshal(g) // a struct of texts and numbers cannot fail
		all[task.AnnotationJobGroup] = string(raw)
	}
	if own := r.Submit.Task.Annotations; len(own) > 0 {
		raw, _ := task.Marshal(own) // a map of texts cannot fail
		all[task.AnnotationOwn] = string(raw)
	}
	if id := r.TraceID(); id != "" {
		all[task.AnnotationTrace] = id
	}
	return all
}

// annotations returns the annotations that identify a Job or Service, so that it can be
// adopted without the log.
func annotations(r *task.Record) map[string]string {
	return map[string]string{
		task.AnnotationCreated:    r.CreatedAt.Format(time.RFC3339Nano),
		task.AnnotationNodes:      strconv.Itoa(r.NumNodes()),
		task.AnnotationUser:       r.Submit.User,
		task.AnnotationName:       r.Name(),
		task.AnnotationSubmission: r.Hash,
	}
}

// labels returns the labels of the Job and the pod of one node: the labels of the user and of
// the server, which take precedence.
func labels(r *task.Record, rank int) map[string]string {
	t := r.Submit.Task
	all := mergeMaps(r.Submit.Resources().Labels, t.Config.Kubernetes.CustomMetadata.Labels)
	all = mergeMaps(all, task.JobLabels(r.Submit.User, t.Name, r.Submit.ID, rank))
	if r.Submit.Group != "" {
		all[task.LabelGroup] = r.Submit.Group
	}
	if r.Gang() {
		all[task.LabelPeers] = "true"
	}
	return all
}

// jobLabels adds the label of the queue, because Kueue admits Jobs and not their pods.
func jobLabels(r *task.Record, rank int) map[string]string {
	all := labels(r, rank)
	if queue := r.Submit.Task.Config.Kubernetes.Kueue.LocalQueue; queue != "" {
		all[task.LabelQueue] = queue
	}
	return all
}

func pod(r *task.Record, rank int) corev1.PodTemplateSpec {
	t := r.Submit.Task
	chosen := r.Submit.Resources()
	volumes, mounts := storage(r, rank)
	volumes[0].DownwardAPI.Items = append(volumes[0].DownwardAPI.Items, append(peerFile(r), groupFile(r)...)...)
	podLabels, args := labels(r, rank), entrypointArgs(r)
	delete(podLabels, task.LabelQueue)
	p := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels: podLabels,
			Annotations: mergeMaps(t.Config.Kubernetes.CustomMetadata.Annotations, map[string]string{
				task.AnnotationSetup: t.Setup, task.AnnotationRun: t.Run,
			}),
		},
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			AutomountServiceAccountToken: new(false),
			EnableServiceLinks:           new(false),
			PriorityClassName:            chosen.PriorityClass,
			SecurityContext: &corev1.PodSecurityContext{
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Volumes: volumes,
			Containers: []corev1.Container{{
				Name:            container,
				Image:           r.Submit.Image,
				Command:         []string{"/bin/sh", "-c", escapeDollar(start), escapeDollar(entrypoint(r, args))},
				Args:            append([]string{escapeDollar(t.Workdir)}, args...),
				Ports:           containerPorts(chosen),
				Env:             environment(r, rank),
				Resources:       placement.Resources(chosen),
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false)},
				VolumeMounts:    mounts,

				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			}},
		},
	}
	if r.NumNodes() > 1 {
		p.Spec.Hostname, p.Spec.Subdomain = task.HostName(rank), serviceName(r)
	}
	addFiles(r, &p.Spec)
	addOutputs(r, rank, &p.Spec)
	addBuckets(r, &p.Spec)
	addSharedMemory(&p.Spec)
	p = mergePod(p, t.Config.Kubernetes.PodConfig)
	p.Spec.Tolerations = append(p.Spec.Tolerations, placement.Tolerations(chosen)...)
	if selector := placement.NodeSelector(chosen); selector != nil {
		requireMachines(&p.Spec, selector)
	}
	fetch(r, &p.Spec)
	moveBuckets(r, &p.Spec)
	return p
}

// entrypointArgs returns the arguments of the entrypoint after the working directory.
func entrypointArgs(r *task.Record) []string {
	peers, files := peerArgs(r), fileArgs(r)
	if len(peers) == 0 && len(files) > 0 {
		peers = []string{"1", ""} // the file arguments have fixed positions
	}
	return append(peers, files...)
}

// script returns a file with the exact content of an annotation of the pod.
func script(name, annotation string) corev1.DownwardAPIVolumeFile {
	return corev1.DownwardAPIVolumeFile{
		Path:     name,
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + annotation + "']"},
	}
}
