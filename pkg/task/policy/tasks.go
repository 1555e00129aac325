// Package policy decides what tasks may request. It limits amounts of resources, labels and
// annotations that other programs read, and objects of the cluster.
package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/bucket"
	"k8s-cli/pkg/task/callback"
	"k8s-cli/pkg/task/problem"
)

// Tasks lists what the tasks of a server may name: labels and annotations that other
// programs of the cluster read, and shared objects of the cluster. The zero Tasks allows
// only the keys that every server allows, and no objects.
type Tasks struct {
	Labels          Keys
	Annotations     Keys
	PriorityClasses []string
	RuntimeClasses  []string
	Schedulers      []string // besides the default scheduler
	PullSecrets     []string
	Callbacks       callback.Hosts // that may receive notifications
	Tolerations     Keys           // keys of guarded taints that tasks may tolerate; AnyTaint allows all taints
	Devices         Keys           // extended resources that tasks may request in pod_config, besides their accelerators
	GracePeriod     time.Duration  // longest terminationGracePeriodSeconds; 0 means no limit

	Transfer    bucket.Transfer // for tasks with buckets; without an image, no task may have buckets
	BucketRules bucket.Rules    // the Secrets for buckets
}

// Keys lists keys of labels, annotations or taints. example.com/key matches only itself;
// example.com/ and io.example. match every key with this prefix.
type Keys []string

// allow reports whether one of the keys matches key.
func (k Keys) allow(key string) bool {
	return slices.ContainsFunc(k, func(listed string) bool {
		return key == listed || isPrefix(listed) && strings.HasPrefix(key, listed)
	})
}

func isPrefix(listed string) bool {
	return strings.HasSuffix(listed, "/") || strings.HasSuffix(listed, ".")
}

// AnyTaint matches every taint and also allows tolerations without a key.
const AnyTaint = "*"

// The keys that every server allows. Programs that read these keys do nothing that affects
// more than the pod.
var (
	allowedLabels = Keys{
		task.LabelQueue, // same effect as config.kubernetes.kueue
	}
	allowedAnnotations = Keys{
		"cluster-autoscaler.kubernetes.io/safe-to-evict", // the cluster autoscaler keeps the machine of the pod
		"karpenter.sh/do-not-disrupt",                    // Karpenter keeps the machine of the pod
		"kueue.x-k8s.io/podset-preferred-topology",       // Kueue places the pods of a Job close together
		"kueue.x-k8s.io/podset-required-topology",
		"prometheus.io/scrape", // Prometheus collects the metrics of the pod
		"prometheus.io/port",
		"prometheus.io/path",
	}
)

const defaultScheduler = "default-scheduler"

// isPlain reports whether a key has neither a domain nor dots. Container runtimes use keys
// with dots, for example io.kubernetes.cri-o.Devices.
func isPlain(key string) bool { return !strings.ContainsAny(key, "/.") }

// isGuarded reports whether a taint reserves machines for the cluster itself, or closes a
// machine for maintenance.
func isGuarded(taint string) bool {
	return strings.HasPrefix(taint, "node-role.kubernetes.io/") || taint == "CriticalAddonsOnly" || taint == "node.kubernetes.io/unschedulable"
}

// Check returns an error for the first field of a valid task that p does not allow. The
// error is of kind problem.NotAllowed.
func (p Tasks) Check(t task.Spec) error {
	c := check{Tasks: p}
	for path, r := range t.AlternativesByPath() {
		c.labels(path+".labels", r.Labels)
		c.priorityClass(path+".priority_class", r.PriorityClass)
	}
	for _, dir := range slices.Sorted(maps.Keys(t.Ephemeral)) {
		c.labels("volumes."+dir+".labels", t.Ephemeral[dir].Labels)
	}
	k := t.Config.Kubernetes
	c.labels("config.kubernetes.custom_metadata.labels", k.CustomMetadata.Labels)
	c.annotations("config.kubernetes.custom_metadata.annotations", k.CustomMetadata.Annotations)
	if len(k.PodConfig) > 0 {
		c.pod("config.kubernetes.pod_config.", k.PodConfig)
	}
	if len(t.Buckets) > 0 && p.Transfer.Image == "" && c.err == nil {
		c.err = problem.New(problem.FeatureDisabled, "file_mounts: buckets are not enabled on this server; download the files in setup, or ask the administrator to set --bucket-image")
	}
	if t.EventCallback != "" && c.err == nil {
		c.err = p.Callbacks.Check(t.EventCallback)
	}
	return c.err
}

// TransferOf returns the choices of the server for the buckets of a task of user.
func (p Tasks) TransferOf(t task.Spec, user string) bucket.Transfer {
	if len(t.Buckets) == 0 {
		return bucket.Transfer{}
	}
	chosen := p.Transfer
	chosen.Secrets = p.BucketRules.Secrets(t.Buckets, user, func(name string) bool { return t.Envs[name] != "" || t.Secrets[name] != "" })
	return chosen
}

// A check checks one task and keeps the first error.
type check struct {
	Tasks
	err error
}

// demand records an error if the value of a field is not allowed.
func (c *check) demand(allowed bool, path, value, flag string) {
	if c.err == nil && !allowed {
		c.err = problem.New(problem.NotAllowed, fmt.Sprintf("%s: %s is not allowed on this server; its administrator can add it to %s", path, task.Quote(value), flag))
	}
}

func (c *check) labels(path string, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		c.demand(isPlain(key) || allowedLabels.allow(key) || c.Labels.allow(key), path, key, "--allowed-labels")
	}
}

func (c *check) annotations(path string, annotations map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		c.demand(isPlain(key) || allowedAnnotations.allow(key) || c.Annotations.allow(key), path, key, "--allowed-annotations")
	}
}

func (c *check) priorityClass(path, name string) {
	c.demand(name == "" || slices.Contains(c.PriorityClasses, name), path, name, "--allowed-priority-classes")
}

// pod checks a pod_config. Package taskfile has already checked its structure.
func (c *check) pod(path string, config json.RawMessage) {
	var pod struct {
		Metadata struct{ Labels, Annotations map[string]string }
		Spec     struct {
			PriorityClassName, RuntimeClassName, SchedulerName string

			TerminationGracePeriodSeconds int64

			ImagePullSecrets []struct{ Name string }
			Tolerations      []struct{ Key string }
			Containers       []struct {
				Resources struct{ Limits map[string]any }
			}
		}
	}
	if err := json.Unmarshal(config, &pod); err != nil {
		c.err = problem.New(problem.NotAllowed, fmt.Sprintf("%s: %v", strings.TrimSuffix(path, "."), err))
		return
	}
	c.labels(path+"metadata.labels", pod.Metadata.Labels)
	c.annotations(path+"metadata.annotations", pod.Metadata.Annotations)
	path += "spec."
	spec := pod.Spec
	c.priorityClass(path+"priorityClassName", spec.PriorityClassName)
	c.demand(spec.RuntimeClassName == "" || slices.Contains(c.RuntimeClasses, spec.RuntimeClassName), path+"runtimeClassName", spec.RuntimeClassName, "--allowed-runtime-classes")
	c.demand(spec.SchedulerName == "" || spec.SchedulerName == defaultScheduler || slices.Contains(c.Schedulers, spec.SchedulerName), path+"schedulerName", spec.SchedulerName, "--allowed-schedulers")
	for i, secret := range spec.ImagePullSecrets {
		c.demand(slices.Contains(c.PullSecrets, secret.Name), fmt.Sprintf("%simagePullSecrets[%d].name", path, i), secret.Name, "--allowed-pull-secrets")
	}
	for i, t := range spec.Tolerations {
		c.toleration(fmt.Sprintf("%stolerations[%d]", path, i), t.Key)
	}
	for i, container := range spec.Containers {
		for _, device := range slices.Sorted(maps.Keys(container.Resources.Limits)) { // package taskfile has added the requests
			c.demand(c.Devices.allow(device), fmt.Sprintf("%scontainers[%d].resources.limits", path, i), device, "--allowed-devices")
		}
	}
	if grace := time.Duration(spec.TerminationGracePeriodSeconds) * time.Second; c.GracePeriod > 0 && grace > c.GracePeriod && c.err == nil {
		c.err = problem.New(problem.NotAllowed, fmt.Sprintf("%sterminationGracePeriodSeconds: %d is more than the %g seconds that this server allows (--max-grace-period)", path, spec.TerminationGracePeriodSeconds, c.GracePeriod.Seconds()))
	}
}

func (c *check) toleration(path, key string) {
	const flag = "--allowed-tolerations"
	switch {
	case slices.Contains(c.Tolerations, AnyTaint):
	case key == "" && c.err == nil:
		c.err = problem.New(problem.NotAllowed, fmt.Sprintf("%s: a toleration without a key is not allowed on this server; name a taint, or have the administrator add %q to %s", path, AnyTaint, flag))
	case key != "":
		c.demand(!isGuarded(key) || c.Tolerations.allow(key), path+".key", key, flag)
	}
}

// CheckKey returns an error if entry is not valid in a list of keys.
func CheckKey(entry string) error {
	key := entry
	if isPrefix(entry) {
		key += "x"
	}
	if err := task.CheckLabelKey(key); err != nil {
		return fmt.Errorf("%s is neither a key such as example.com/key nor a prefix such as example.com/", task.Quote(entry))
	}
	if task.IsReserved(key) {
		return fmt.Errorf("key %s is reserved; tasks cannot set it", task.Quote(entry))
	}
	return nil
}

// CheckName returns an error if entry is not valid in a list of names of objects.
func CheckName(entry string) error {
	if !task.IsSubdomain(entry) {
		return fmt.Errorf("%s is not a valid name of a Kubernetes object", task.Quote(entry))
	}
	return nil
}
