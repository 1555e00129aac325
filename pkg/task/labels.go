package task

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Labels and annotations that users add to those of the launcher.

// MaxLabels is how many labels or annotations a user may give an object: far
// more than people write.
const MaxLabels = 64

const maxAnnotations = 250_000 // bytes on a pod, scripts included; Kubernetes takes 256 KiB, and the launcher's own need some

var (
	qualifiedForm  = regexp.MustCompile(`^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelValueForm = regexp.MustCompile(`^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
)

// CheckLabelKey reports what keeps key from being the key of a label or an
// annotation: [domain/]name, as in Kubernetes.
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

// CheckLabelValue reports what keeps value from being that of a label.
func CheckLabelValue(value string) error {
	if !labelValueForm.MatchString(value) {
		return fmt.Errorf("%s must be at most 63 letters, digits, - _ and ., and must begin and end with a letter or digit", Quote(value))
	}
	return nil
}

// CheckLabel reports what keeps a user from giving an object this label.
func CheckLabel(key, value string) error {
	if err := CheckLabelKey(key); err != nil {
		return err
	}
	if IsReserved(key) {
		return fmt.Errorf("label %s is reserved for the launcher, Kubernetes or an installer; choose another key", Quote(key))
	}
	return CheckLabelValue(value)
}

// CheckAnnotation reports what keeps a user from giving an object an annotation
// of this key. Those of Kubernetes itself may change what a container is
// allowed to do; an autoscaler's is the exception.
func CheckAnnotation(key string) error {
	if err := CheckLabelKey(key); err != nil {
		return err
	}
	domain, _, qualified := strings.Cut(key, "/")
	ofKubernetes := domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") || domain == "k8s.io" || strings.HasSuffix(domain, ".k8s.io")
	if IsReserved(key) || qualified && ofKubernetes && domain != "cluster-autoscaler.kubernetes.io" {
		return fmt.Errorf("annotation %s is reserved for the launcher or Kubernetes; choose another key", Quote(key))
	}
	return nil
}

// IsReserved reports whether key is one of those that the launcher or the Job controller sets, those by
// which Services and policies choose the pods of a release, and the one plain key
// that gives a pod an identity in a cloud.
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
