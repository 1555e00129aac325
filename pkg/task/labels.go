package task

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Labels and annotations that users add to objects.

// MaxLabels is the largest number of labels or annotations that a user may give an object.
const MaxLabels = 64

// MaxAnnotations is the largest size of the annotations of a pod, with the scripts, in bytes.
// Kubernetes allows 256 KiB; the rest is for the other annotations of k8s-cli.
const MaxAnnotations = 250_000

// maxOwnAnnotations is the largest size of Spec.Annotations as JSON, in bytes. They are in each status,
// in each event and in an annotation of the Jobs of a task.
const maxOwnAnnotations = 4 << 10

var (
	qualifiedForm  = regexp.MustCompile(`^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelValueForm = regexp.MustCompile(`^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
)

// CheckLabelKey returns an error if key is not a valid key of a label or an annotation:
// [domain/]name, as in Kubernetes.
func CheckLabelKey(key string) error {
	name := key
	if domain, rest, ok := strings.Cut(key, "/"); ok {
		if name = rest; len(domain) > maxSubdomain || !subdomainForm.MatchString(domain) {
			return fmt.Errorf("%s is not NAME or DOMAIN/NAME", Quote(key))
		}
	}
	if !qualifiedForm.MatchString(name) {
		return fmt.Errorf("%s is not NAME or DOMAIN/NAME", Quote(key))
	}
	return nil
}

// CheckLabelValue returns an error if value is not a valid value of a label.
func CheckLabelValue(value string) error {
	if !labelValueForm.MatchString(value) {
		return fmt.Errorf("%s must be at most 63 letters, digits, - _ and ., and must begin and end with a letter or digit", Quote(value))
	}
	return nil
}

// CheckLabel returns an error if a user may not give an object this label.
func CheckLabel(key, value string) error {
	if err := CheckLabelKey(key); err != nil {
		return err
	}
	if IsReserved(key) {
		return fmt.Errorf("label %s is reserved for k8s-cli, Kubernetes or an installer; choose another key", Quote(key))
	}
	return CheckLabelValue(value)
}

// CheckAnnotation returns an error if a user may not give an object an annotation with this
// key. Annotations of Kubernetes may change the permissions of a container and are
// therefore not allowed, except the annotations of the cluster autoscaler.
func CheckAnnotation(key string) error {
	if err := CheckLabelKey(key); err != nil {
		return err
	}
	domain, _, qualified := strings.Cut(key, "/")
	ofKubernetes := domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") || domain == "k8s.io" || strings.HasSuffix(domain, ".k8s.io")
	if IsReserved(key) || qualified && ofKubernetes && domain != "cluster-autoscaler.kubernetes.io" {
		return fmt.Errorf("annotation %s is reserved for k8s-cli or Kubernetes; choose another key", Quote(key))
	}
	return nil
}

// IsReserved reports whether users may not set key. Reserved keys are the keys that k8s-cli
// or the Job controller sets, the keys by which Services and network policies select the
// pods of a release, and aadpodidbinding, which gives a pod an identity in a cloud.
func IsReserved(key string) bool {
	own := []string{
		LabelTaskID, LabelTaskName, LabelUser, LabelNode, LabelVolumeID, LabelVolumeName, AnnotationCreated, AnnotationNodes,
		"controller-uid", "job-name", "aadpodidbinding",
	}
	domains := []string{"skypilot-", "batch.kubernetes.io/", "app.kubernetes.io/"}
	return slices.Contains(own, key) || slices.ContainsFunc(domains, func(d string) bool { return strings.HasPrefix(key, d) })
}

func checkLabels(field string, labels map[string]string) error {
	if len(labels) > MaxLabels {
		return fmt.Errorf("%s: %d labels exceed the limit of %d", field, len(labels), MaxLabels)
	}
	for _, key := range ordered(labels) {
		if err := CheckLabel(key, labels[key]); err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
	}
	return nil
}

// AnnotationPoint is the annotation, in Spec.Annotations, in which a client stores the point of a task in
// a sweep: NAME=VALUE of each variable.
const AnnotationPoint = "k8s-cli/point"

// CheckAnnotations returns an error if the annotations of the task are too many or too large, or if a key
// is not a valid key of an annotation. The values may be any text.
func (s Spec) CheckAnnotations() error {
	if len(s.Annotations) > MaxLabels {
		return fmt.Errorf("%d annotations exceed the limit of %d", len(s.Annotations), MaxLabels)
	}
	for _, key := range ordered(s.Annotations) {
		if err := CheckLabelKey(key); err != nil {
			return err
		}
	}
	if raw, _ := Marshal(s.Annotations); len(raw) > maxOwnAnnotations { // a map of texts always encodes
		return fmt.Errorf("the annotations have %d bytes as JSON, more than the limit of %d; write larger data to a file or to the log", len(raw), maxOwnAnnotations)
	}
	return nil
}

func (s Spec) checkAnnotations() error {
	if err := s.CheckAnnotations(); err != nil {
		return fmt.Errorf("annotations: %w", err)
	}
	return nil
}
