package task

import (
	"strings"
	"testing"
)

func TestLabelsOfUsers(t *testing.T) {
	for _, tt := range []struct {
		key, value string
		ok         bool
	}{
		{"team", "search", true},
		{"a.b/C_d.e", "", true},
		{"example.com/" + strings.Repeat("n", 63), strings.Repeat("v", 63), true},
		{"kueue.x-k8s.io/queue-name", "research", true},
		{"", "x", false},
		{"a b", "x", false},
		{"-a", "x", false},
		{"A.b/c", "x", false},
		{"a/b/c", "x", false},
		{"/a", "x", false},
		{"a/", "x", false},
		{strings.Repeat("n", 64), "x", false},
		{strings.Repeat("d.", 127) + "/n", "x", false},
		{"team", "a b", false},
		{"team", "-a", false},
		{"team", "ü", false},
		{"team", "a\n", false},
		{"team", strings.Repeat("v", 64), false},
		{LabelTaskID, "x", false},
		{LabelUser, "x", false},
		{"skypilot-anything", "x", false},
		{"controller-uid", "x", false},
		{"batch.kubernetes.io/job-name", "x", false},
		{"app.kubernetes.io/name", "k8s-cli-server", false},
		{"app.kubernetes.io/part-of", "k8s-cli", false},
		{"aadpodidbinding", "anybody", false},
		{LabelShared, "true", false},
	} {
		if err := CheckLabel(tt.key, tt.value); (err == nil) != tt.ok {
			t.Errorf("%s=%s: %v", tt.key, tt.value, err)
		}
	}
}

func TestAnnotationsOfUsers(t *testing.T) {
	for key, ok := range map[string]bool{
		"example.com/why": true,
		"note":            true,
		"cluster-autoscaler.kubernetes.io/safe-to-evict":      true,
		"container.apparmor.security.beta.kubernetes.io/task": false,
		"kubernetes.io/x":     false,
		"scheduling.k8s.io/x": false,
		AnnotationRun:         false,
		AnnotationCreated:     false,
		"a b":                 false,
	} {
		if err := CheckAnnotation(key); (err == nil) != ok {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestLabelsOfTheLauncherAreReserved checks that users cannot set the labels that k8s-cli
// sets.
func TestLabelsOfTheLauncherAreReserved(t *testing.T) {
	for key := range JobLabels("ann", "train", "abc12345", 0) {
		if !IsReserved(key) {
			t.Errorf("a user may set %s", key)
		}
	}
}

func TestValidateNamesTheField(t *testing.T) {
	for want, task := range map[string]Spec{
		`resources.priority_class: "a b" is not a valid name of a PriorityClass for tasks; names that begin with system- are reserved`:   {Run: "x", Resources: Resources{PriorityClass: "a b"}},
		"resources.job_recovery.max_restarts_on_errors: -1 is not between 0 and 10000":                                                   {Run: "x", Resources: Resources{JobRecovery: Recovery{Restarts: -1}}},
		"resources.job_recovery.recover_on_exit_codes: the codes must be from 1 to 255, in ascending order":                              {Run: "x", Resources: Resources{JobRecovery: Recovery{ExitCodes: []int{2, 1}}}},
		"resources.ephemeral_storage: -5 is not between 1 and 1048576":                                                                   {Run: "x", Resources: Resources{EphemeralStorage: -5}},
		`resources.any_of[1].cpus: "x" is not a positive number of cores, for example 4, 0.5, 4+ or 500m`:                                {Run: "x", Resources: Resources{AnyOf: []Resources{{}, {CPUs: "x"}}}},
		`resources.ordered[0].labels: "a b" is not NAME or DOMAIN/NAME`:                                                                  {Run: "x", Resources: Resources{Ordered: []Resources{{Labels: map[string]string{"a b": ""}}}}},
		`sub_paths: no volume is mounted at "/b"; name one under volumes`:                                                                {Run: "x", Volumes: map[string]string{"/a": "v"}, SubPaths: map[string]string{"/b": "c"}},
		`volumes./a.sub_path: "/c" must be a relative path without .. inside the volume`:                                                 {Run: "x", Volumes: map[string]string{"/a": "v"}, SubPaths: map[string]string{"/a": "/c"}},
		"run: setup, run, annotations and the addresses of all nodes have 260000 bytes in total, more than the limit of 250000":          {NumNodes: 10000, Run: strings.Repeat("x", 100_000)},
		`annotations: "a b" is not NAME or DOMAIN/NAME`:                                                                                  {Run: "x", Annotations: map[string]string{"a b": ""}},
		"annotations: the annotations have 4104 bytes as JSON, more than the limit of 4096; write larger data to a file or to the log":   {Run: "x", Annotations: map[string]string{"a": strings.Repeat("x", 4096)}},
		"run: setup, run and annotations have 260000 bytes in total, more than the limit of 250000":                                      {Setup: strings.Repeat("x", 130_000), Run: strings.Repeat("x", 130_000)},
		`config.kubernetes.custom_metadata.annotations: annotation "k8s.io/a" is reserved for k8s-cli or Kubernetes; choose another key`: {Run: "x", Config: Config{Kubernetes{CustomMetadata: CustomMetadata{Annotations: map[string]string{"k8s.io/a": ""}}}}},
	} {
		if err := task.Validate(); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}
