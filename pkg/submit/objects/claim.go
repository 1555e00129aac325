package objects

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
)

// Claim returns the claim of a volume. The volume must be valid.
func Claim(r *task.VolumeRecord, namespace string) *corev1.PersistentVolumeClaim {
	v := r.Create.Volume
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:      r.ClaimName(),
			Namespace: namespace,
			Labels:    task.ClaimLabels(r.Create.User, v.Name, r.Create.ID),
			Annotations: map[string]string{
				task.AnnotationCreated:    r.CreatedAt.Format(time.RFC3339Nano),
				task.AnnotationUser:       r.Create.User,
				task.AnnotationSubmission: r.Hash,
			},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(v.Size)},
			},
			StorageClassName: v.StorageClass,
		},
	}
	for _, mode := range v.Modes() {
		claim.Spec.AccessModes = append(claim.Spec.AccessModes, corev1.PersistentVolumeAccessMode(mode))
	}
	return claim
}
