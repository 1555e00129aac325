package task

import (
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s-cli/pkg/task/outputs"
	"k8s-cli/pkg/task/problem"
)

// AccessModes lists the access modes of Kubernetes claims.
var AccessModes = []string{"ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany", "ReadWriteOncePod"}

// MaxNodes is the largest number of nodes of a task on any server.
const MaxNodes = 10_000

// MaxRestarts is the largest number of restarts of a node of a task.
const MaxRestarts = 10_000

const (
	maxName      = 253 // characters of a task name, like other names in Kubernetes
	maxLabel     = 63  // characters of a label value and of a DNS-1123 label
	maxSubdomain = 253 // characters of a DNS-1123 subdomain
	maxImage     = 1024
	maxDisk      = 1 << 20 // GB
	maxMounts    = 100     // of a pod
	addressSize  = 16      // bytes of an IPv4 address with a newline
)

var (
	nameForm      = regexp.MustCompile(`^[a-zA-Z0-9]+(?:[._-]{1,2}[a-zA-Z0-9]+)*$`) // SkyPilot's pattern, sky/task.py
	labelForm     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	subdomainForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

	// [host[:port]/]path[:tag][@digest], the grammar of the distribution project.
	imageForm = regexp.MustCompile(`^(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::[0-9]+)?/)?` +
		`[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*` +
		`(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$`)
)

// Validate returns an error for the first invalid field of t. The error is of kind
// problem.Invalid.
func (s Spec) Validate() error {
	for _, check := range []func() error{
		s.checkName, s.checkNodes, s.checkTimeLimit, s.checkScripts, s.checkResources, s.checkEnvs, s.checkSecrets, s.checkVolumes, s.checkUploads, s.checkOutputs, s.Config.check, s.checkAnnotationSize, s.checkAnnotations,
	} {
		if err := check(); err != nil {
			return problem.New(problem.Invalid, err.Error())
		}
	}
	return nil
}

func (s Spec) checkName() error {
	switch {
	case s.Name == "":
		return nil
	case len(s.Name) > maxName:
		return fmt.Errorf("name: %d characters exceed the limit of %d", len(s.Name), maxName)
	case !nameForm.MatchString(s.Name):
		return fmt.Errorf("name: %s must be letters and digits, joined by one or two of . _ -", Quote(s.Name))
	}
	return nil
}

func (s Spec) checkNodes() error {
	if s.NumNodes < 0 || s.NumNodes > MaxNodes {
		return fmt.Errorf("num_nodes: %d is not a whole number from 1 to %d", s.NumNodes, MaxNodes)
	}
	return nil
}

func (s Spec) checkTimeLimit() error {
	if _, err := s.TimeLimit(); err != nil {
		return fmt.Errorf("max_duration: %w", err)
	}
	return nil
}

func (s Spec) checkScripts() error {
	if strings.TrimSpace(s.Run) == "" && strings.TrimSpace(s.Setup) == "" {
		return fmt.Errorf("run: a task needs a command to run")
	}
	return noNUL("run", s.Run, "setup", s.Setup, "workdir", s.Workdir, "workdir.url", s.Git.URL, "workdir.ref", s.Git.Ref)
}

func (s Spec) checkOutputs() error {
	if err := outputs.Check(s.Outputs, isReserved); err != nil {
		return fmt.Errorf("outputs: %w", err)
	}
	return nil
}

func (s Spec) checkResources() error {
	for path, alternative := range s.AlternativesByPath() {
		if err := alternative.check(path); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error for the first invalid field of r. path is the path of r in the
// task.
func (r Resources) check(path string) error {
	if _, err := r.CPU(); err != nil {
		return fmt.Errorf("%s.cpus: %w", path, err)
	}
	if _, err := r.RAM(); err != nil {
		return fmt.Errorf("%s.memory: %w", path, err)
	}
	if _, _, err := r.GPUs(); err != nil {
		return fmt.Errorf("%s.accelerators: %w", path, err)
	}
	if r.ImageID != "" && !IsImage(r.Image()) {
		return fmt.Errorf("%s.image_id: %s is not a valid name of a container image", path, Quote(r.ImageID))
	}
	if r.PriorityClass != "" {
		if err := CheckPriorityClass(r.PriorityClass); err != nil {
			return fmt.Errorf("%s.priority_class: %w", path, err)
		}
	}
	if r.EphemeralStorage < 0 || r.EphemeralStorage > maxDisk {
		return fmt.Errorf("%s.ephemeral_storage: %d is not between 1 and %d", path, r.EphemeralStorage, maxDisk)
	}
	if err := r.JobRecovery.check(); err != nil {
		return fmt.Errorf("%s.job_recovery.%w", path, err)
	}
	return checkLabels(path+".labels", r.Labels)
}

func (r Recovery) check() error {
	if r.Restarts < 0 || r.Restarts > MaxRestarts {
		return fmt.Errorf("max_restarts_on_errors: %d is not between 0 and %d", r.Restarts, MaxRestarts)
	}
	for i, code := range r.ExitCodes {
		if code < 1 || code > 255 || i > 0 && code <= r.ExitCodes[i-1] {
			return fmt.Errorf("recover_on_exit_codes: the codes must be from 1 to 255, in ascending order")
		}
	}
	return nil
}

// CheckPriorityClass returns an error if a task may not name a PriorityClass. The classes
// of Kubernetes itself would preempt everything else on a machine.
func CheckPriorityClass(name string) error {
	if !IsSubdomain(name) || strings.HasPrefix(name, "system-") {
		return fmt.Errorf("%s is not a valid name of a PriorityClass for tasks; names that begin with system- are reserved", Quote(name))
	}
	return nil
}

// IsSubdomain reports whether s is a DNS-1123 subdomain, which is the form of most names in
// Kubernetes.
func IsSubdomain(s string) bool { return len(s) <= maxSubdomain && subdomainForm.MatchString(s) }

// ReservedVariables is the beginning of the names of variables that the entrypoint of a container uses
// while the scripts of the task run.
const ReservedVariables = "k8s_cli_"

// CheckVariable returns an error if name is not a valid name of an environment variable of a task.
func CheckVariable(name string) error {
	if strings.HasPrefix(name, ReservedVariables) || strings.HasPrefix(name, "K8S_CLI_OUTPUTS") || name == BucketsEnv || name == VariablesEnv {
		return fmt.Errorf("variable %s is reserved for k8s-cli; choose another name", Quote(name))
	}
	if !isVariable(name) {
		return fmt.Errorf("%s is not a valid variable name; use letters, digits and _, and do not begin with a digit", Quote(name))
	}
	return nil
}

// isVariable implements SkyPilot's pattern, sky/utils/schemas.py: ^[a-zA-Z_][a-zA-Z0-9_]*$.
func isVariable(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

func (s Spec) checkEnvs() error {
	return checkVariables("envs", s.Envs)
}

// checkSecrets returns an error for the first invalid secret. The error contains only the
// name of the secret.
func (s Spec) checkSecrets() error {
	return checkVariables("secrets", s.Secrets)
}

// checkVariables returns an error for the first invalid variable in the order of names.
func checkVariables(field string, values map[string]string) (first error) {
	least := ""
	for name, value := range values {
		err := CheckVariable(name)
		if first != nil && name > least || err == nil && !strings.ContainsRune(value, 0) {
			continue
		}
		least, first = name, fmt.Errorf("%s.%s: contains a NUL character", field, name)
		if err != nil {
			first = fmt.Errorf("%s: %w", field, err)
		}
	}
	return first
}

func (c Config) check() error {
	marks, queue := c.Kubernetes.CustomMetadata, c.Kubernetes.Kueue.LocalQueue
	if queue != "" {
		if err := CheckLabelValue(queue); err != nil {
			return fmt.Errorf("config.kubernetes.kueue.local_queue_name: %w", err)
		}
	}
	for _, key := range ordered(marks.Annotations) {
		if err := CheckAnnotation(key); err != nil {
			return fmt.Errorf("config.kubernetes.custom_metadata.annotations: %w", err)
		}
	}
	return checkLabels("config.kubernetes.custom_metadata.labels", marks.Labels)
}

// checkAnnotationSize checks the size of the annotations of a pod, which contain the scripts
// and the addresses of several nodes.
func (s Spec) checkAnnotationSize() error {
	what := "setup, run and annotations"
	if s.Nodes() > 1 {
		what = "setup, run, annotations and the addresses of all nodes"
	}
	if size := s.AnnotationSize(); size > MaxAnnotations {
		return fmt.Errorf("run: %s have %d bytes in total, more than the limit of %d", what, size, MaxAnnotations)
	}
	return nil
}

// AnnotationSize returns the size of the annotations of a pod of the task, without those of a job
// group, in bytes.
func (s Spec) AnnotationSize() int {
	size := len(s.Setup) + len(s.Run) + len(s.Config.Kubernetes.PodConfig)
	for key, value := range s.Config.Kubernetes.CustomMetadata.Annotations {
		size += len(key) + len(value)
	}
	if n := s.Nodes(); n > 1 {
		size += n * addressSize
	}
	return size
}

// Validate returns an error for the first invalid field of v. The error is of kind
// problem.Invalid.
func (v Volume) Validate() error {
	if err := v.check(); err != nil {
		return problem.New(problem.Invalid, err.Error())
	}
	return nil
}

func (v Volume) check() error {
	if v.Name == "" {
		return fmt.Errorf("name: a volume needs a name")
	}
	if limit := maxLabel - idLength - 1; len(v.Name) > limit || !labelForm.MatchString(v.Name) {
		return fmt.Errorf("name: %s must be lower-case letters, digits and - (not at the ends), at most %d characters", Quote(v.Name), limit)
	}
	if err := checkClaim(v.Size, v.StorageClass); err != nil {
		return err
	}
	for i, mode := range v.AccessModes {
		if err := CheckAccessMode(mode); err != nil {
			return fmt.Errorf("access_modes: %w", err)
		}
		if slices.Contains(v.AccessModes[:i], mode) {
			return fmt.Errorf("access_modes: duplicate mode %s", mode)
		}
	}
	if slices.Contains(v.AccessModes, "ReadWriteOncePod") && len(v.AccessModes) > 1 {
		return fmt.Errorf("access_modes: ReadWriteOncePod cannot be combined with other modes")
	}
	return nil
}

// ordered returns the sorted keys of m.
func ordered[V any](m map[string]V) []string {
	if len(m) == 0 { // avoids an allocation in the usual case
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}

// noNUL takes pairs of field and text, and returns an error if a text contains a NUL byte.
// Environment variables and file names cannot contain NUL bytes.
func noNUL(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if strings.ContainsRune(pairs[i+1], 0) {
			return fmt.Errorf("%s: contains a NUL character", pairs[i])
		}
	}
	return nil
}

// Quote returns s in quotes, shortened for an error message.
func Quote(s string) string {
	const most = 100
	if len(s) <= most {
		return strconv.Quote(s)
	}
	return strconv.Quote(strings.ToValidUTF8(s[:most], "")) + "..."
}

// AlternativesByPath returns the alternatives, each with its path in the task.
func (s Spec) AlternativesByPath() iter.Seq2[string, Resources] {
	return func(yield func(string, Resources) bool) {
		for i, r := range s.Resources.Alternatives() {
			path := "resources"
			switch {
			case len(s.Resources.AnyOf) > 0:
				path = fmt.Sprintf("resources.any_of[%d]", i)
			case len(s.Resources.Ordered) > 0:
				path = fmt.Sprintf("resources.ordered[%d]", i)
			}
			if !yield(path, r) {
				return
			}
		}
	}
}
