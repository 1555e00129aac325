// Package policy says what the tasks of a server may ask for: amounts, keys that other
// programs obey, and objects of the cluster.
package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s-cli/pkg/task"
)

// Tasks lists what the tasks of a server may name: keys that other programs of
// the cluster obey, and objects of the cluster that serve others too. The zero
// policy allows the keys that are allowed everywhere, and no such object.
type Tasks struct {
	Labels          Keys
	Annotations     Keys
	PriorityClasses []string
	RuntimeClasses  []string
	Schedulers      []string // beside the default one
	PullSecrets     []string
	Tolerations     Keys // of taints that keep nodes from tasks; AnyTaint allows all of them
}

// Keys are keys of labels, annotations or taints: example.com/key stands for
// itself, example.com/ and io.example. for every key that begins so.
type Keys []string

// allow reports whether one of the keys stands for key.
func (k Keys) allow(key string) bool {
	return slices.ContainsFunc(k, func(listed string) bool {
		return key == listed || isPrefix(listed) && strings.HasPrefix(key, listed)
	})
}

func isPrefix(listed string) bool {
	return strings.HasSuffix(listed, "/") || strings.HasSuffix(listed, ".")
}

// AnyTaint stands for every taint, and so allows tolerations without a key.
const AnyTaint = "*"

// Keys that every server allows. They ask their readers for nothing that reaches
// beyond the pod.
var (
	allowedLabels = Keys{
		task.LabelQueue, // the same as config.kubernetes.kueue
	}
	allowedAnnotations = Keys{
		"cluster-autoscaler.kubernetes.io/safe-to-evict", // the cluster autoscaler keeps the node of a pod
		"karpenter.sh/do-not-disrupt",                    // Karpenter keeps the node of a pod
		"kueue.x-k8s.io/podset-preferred-topology",       // Kueue places the pods of a Job close together
		"kueue.x-k8s.io/podset-required-topology",        //
		"prometheus.io/scrape",                           // Prometheus collects the metrics of a pod
		"prometheus.io/port",                             //
		"prometheus.io/path",                             //
	}
)

const defaultScheduler = "default-scheduler"

// isPlain reports whether a key has neither a domain in front nor dots inside, by
// which container runtimes know theirs: io.kubernetes.cri-o.Devices.
func isPlain(key string) bool { return !strings.ContainsAny(key, "/.") }

// isGuarded reports whether a taint keeps ordinary workloads from nodes of the
// cluster's own, or from nodes that an administrator has closed.
func isGuarded(taint string) bool {
	return strings.HasPrefix(taint, "node-role.kubernetes.io/") || taint == "CriticalAddonsOnly" || taint == "node.kubernetes.io/unschedulable"
}

// Check reports the first thing that a valid task names and p does not allow, by
// its field. The error is of kind task.ErrInvalid.
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
	return c.err
}

// A check holds a task to a policy, and keeps the first error.
type check struct {
	Tasks
	err error
}

// demand notes an error unless the value of a field is allowed.
func (c *check) demand(allowed bool, path, value, flag string) {
	if c.err == nil && !allowed {
		c.err = task.Error(task.ErrInvalid, fmt.Sprintf("%s: %s is not allowed on this server; its administrator can add it to %s", path, task.Quote(value), flag))
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

// pod checks a pod_config. Package taskfile has seen to its shape.
func (c *check) pod(path string, config json.RawMessage) {
	var pod struct {
		Metadata struct{ Labels, Annotations map[string]string }
		Spec     struct {
			PriorityClassName, RuntimeClassName, SchedulerName string

			ImagePullSecrets []struct{ Name string }
			Tolerations      []struct{ Key string }
		}
	}
	if err := json.Unmarshal(config, &pod); err != nil {
		c.err = task.Error(task.ErrInvalid, fmt.Sprintf("%s: %v", strings.TrimSuffix(path, "."), err))
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
}

func (c *check) toleration(path, key string) {
	const flag = "--allowed-tolerations"
	switch {
	case slices.Contains(c.Tolerations, AnyTaint):
	case key == "" && c.err == nil:
		c.err = task.Error(task.ErrInvalid, fmt.Sprintf("%s: a toleration without a key is not allowed on this server; name a taint, or have the administrator add %q to %s", path, AnyTaint, flag))
	case key != "":
		c.demand(!isGuarded(key) || c.Tolerations.allow(key), path+".key", key, flag)
	}
}

// CheckKey reports what keeps an entry from standing in a list of keys.
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

// CheckName reports what keeps an entry from standing in a list of objects.
func CheckName(entry string) error {
	if !task.IsSubdomain(entry) {
		return fmt.Errorf("%s is not a valid name of a Kubernetes object", task.Quote(entry))
	}
	return nil
}
