package objects

import (
	"maps"
	"path"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/placement"
	"k8s-cli/pkg/task"
)

// storage returns the volumes of the pod and their mounts: the scripts, the claims of the
// task, each once, and the ephemeral volumes of this node.
func storage(r *task.Record, rank int) ([]corev1.Volume, []corev1.VolumeMount) {
	t := r.Submit.Task
	volumes := []corev1.Volume{{Name: scriptsVolume, VolumeSource: corev1.VolumeSource{
		DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
			script("setup", task.AnnotationSetup),
			script("run", task.AnnotationRun),
		}},
	}}}
	mounts := []corev1.VolumeMount{{Name: scriptsVolume, MountPath: task.ScriptDir, ReadOnly: true}}
	names := map[string]string{} // names of pod volumes by claim
	for _, dir := range slices.Sorted(maps.Keys(t.Volumes)) {
		claim := r.Claims[t.Volumes[dir]]
		if names[claim] == "" {
			names[claim] = "volume-" + strconv.Itoa(len(names))
			volumes = append(volumes, corev1.Volume{Name: names[claim], VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
			}})
		}
		mounts = append(mounts, corev1.VolumeMount{Name: names[claim], MountPath: path.Clean(dir), SubPath: t.SubPaths[dir]})
	}
	for i, dir := range slices.Sorted(maps.Keys(t.Ephemeral)) {
		name := "ephemeral-" + strconv.Itoa(i)
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Ephemeral: ephemeral(r, rank, t.Ephemeral[dir])}})
		mounts = append(mounts, corev1.VolumeMount{Name: name, MountPath: path.Clean(dir)})
	}
	return volumes, mounts
}

// ephemeral returns the template of a claim that Kubernetes creates for a pod and deletes with
// it. The claim has the labels of the pod, and its user as an annotation.
func ephemeral(r *task.Record, rank int, e task.Ephemeral) *corev1.EphemeralVolumeSource {
	return &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      mergeMaps(e.Labels, task.JobLabels(r.Submit.User, r.Submit.Task.Name, r.Submit.ID, rank)),
			Annotations: map[string]string{task.AnnotationUser: r.Submit.User},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.PersistentVolumeAccessMode(e.Mode())},
			StorageClassName: e.StorageClass,
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: placement.RoundUpToBytes(resource.MustParse(e.Size))}},
		},
	}}
}
