package objects

import (
	"encoding/json"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"k8s-cli/pkg/task"
)

// mergePod returns pod merged with the task's pod_config. sanitize removes what no task may
// have from the result.
func mergePod(pod corev1.PodTemplateSpec, config json.RawMessage) corev1.PodTemplateSpec {
	if len(config) == 0 {
		return pod
	}
	if other, err := patchPod(pod, config); err == nil { // package taskfile rejects a pod_config of another shape
		return sanitize(other, pod)
	}
	return pod
}

func patchPod(pod corev1.PodTemplateSpec, config json.RawMessage) (corev1.PodTemplateSpec, error) {
	var all corev1.PodTemplateSpec
	var patch struct {
		Metadata map[string]any `json:"metadata,omitempty"`
		Spec     map[string]any `json:"spec,omitempty"`
	}
	if err := json.Unmarshal(config, &patch); err != nil {
		return all, err
	}
	containers, _ := patch.Spec["containers"].([]any)
	for _, c := range containers {
		if m, ok := c.(map[string]any); ok {
			m["name"] = container // Kubernetes merges containers by name
		}
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return all, err
	}
	before, err := json.Marshal(pod)
	if err != nil {
		return all, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, raw, pod)
	if err != nil {
		return all, err
	}
	return all, json.Unmarshal(after, &all)
}

// sanitize returns the merged pod without what no task may have: resources of the node or of
// other users, privileges, or another command. ours is the pod before the merge.
func sanitize(pod, ours corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	pod.Labels = mergeMaps(pod.Labels, ours.Labels)
	pod.Annotations = mergeMaps(pod.Annotations, ours.Annotations)
	s, own := &pod.Spec, ours.Spec
	s.HostNetwork, s.HostPID, s.HostIPC, s.NodeName = false, false, false, ""
	s.Hostname, s.Subdomain, s.SetHostnameAsFQDN = own.Hostname, own.Subdomain, nil
	s.ServiceAccountName, s.DeprecatedServiceAccount = "", ""
	s.AutomountServiceAccountToken, s.EnableServiceLinks = own.AutomountServiceAccountToken, own.EnableServiceLinks
	s.RestartPolicy, s.InitContainers, s.EphemeralContainers, s.ResourceClaims = own.RestartPolicy, nil, nil, nil
	if s.HostUsers != nil && *s.HostUsers {
		s.HostUsers = nil
	}
	if s.SecurityContext == nil {
		s.SecurityContext = &corev1.PodSecurityContext{}
	}
	s.SecurityContext.SeccompProfile = own.SecurityContext.SeccompProfile
	s.SecurityContext.AppArmorProfile, s.SecurityContext.Sysctls = nil, nil
	s.Volumes = sanitizeVolumes(s.Volumes, own.Volumes)
	sanitizeSpread(s.TopologySpreadConstraints, ours.Labels[task.LabelTaskID])
	sanitizeAffinity(s.Affinity, ours.Labels[task.LabelOwner])
	i := slices.IndexFunc(s.Containers, func(c corev1.Container) bool { return c.Name == container })
	if i < 0 {
		s.Containers = own.Containers
		return pod
	}
	s.Containers = s.Containers[i : i+1]
	sanitizeContainer(&s.Containers[0], own.Containers[0])
	return pod
}

// sanitizeVolumes returns our volumes and those of the other volumes that are an emptyDir. A
// pod_config may set the size of our shared memory.
func sanitizeVolumes(all, ours []corev1.Volume) []corev1.Volume {
	kept := slices.DeleteFunc(slices.Clone(ours), func(v corev1.Volume) bool { return v.EmptyDir != nil })
	for _, v := range all {
		if v.EmptyDir != nil && !slices.ContainsFunc(kept, func(k corev1.Volume) bool { return k.Name == v.Name }) {
			kept = append(kept, v)
		}
	}
	return kept
}

// sanitizeSpread restricts topology spread constraints to the pods of the task. The author of
// a pod_config cannot know the labels of these pods.
func sanitizeSpread(constraints []corev1.TopologySpreadConstraint, id string) {
	for i := range constraints {
		c := &constraints[i]
		c.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{task.LabelTaskID: id}}
		c.MaxSkew, c.MatchLabelKeys = max(c.MaxSkew, 1), nil
	}
}

// sanitizeAffinity restricts the terms about other pods to the pods of one owner. A pod with a term
// about the pods of another user would keep them off its machines, because the scheduler applies
// required anti-affinity in both directions, or would show whether such pods exist.
func sanitizeAffinity(a *corev1.Affinity, owner string) {
	if a == nil {
		return
	}
	var terms []*corev1.PodAffinityTerm
	collect := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			terms = append(terms, &required[i])
		}
		for i := range preferred {
			terms = append(terms, &preferred[i].PodAffinityTerm)
		}
	}
	if p := a.PodAffinity; p != nil {
		collect(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		collect(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	for _, t := range terms {
		t.Namespaces, t.NamespaceSelector, t.MatchLabelKeys, t.MismatchLabelKeys = nil, nil, nil, nil
		if t.LabelSelector != nil { // without a selector, the term matches no pods
			t.LabelSelector.MatchExpressions = append(t.LabelSelector.MatchExpressions,
				metav1.LabelSelectorRequirement{Key: task.LabelOwner, Operator: metav1.LabelSelectorOpIn, Values: []string{owner}})
		}
	}
}

func sanitizeContainer(c *corev1.Container, own corev1.Container) {
	c.Name, c.Image, c.Command, c.Args, c.WorkingDir = own.Name, own.Image, own.Command, own.Args, own.WorkingDir
	c.TerminationMessagePath, c.TerminationMessagePolicy = own.TerminationMessagePath, own.TerminationMessagePolicy
	c.EnvFrom, c.Ports, c.VolumeDevices, c.Lifecycle = nil, own.Ports, nil, nil
	c.Env = slices.DeleteFunc(c.Env, func(v corev1.EnvVar) bool {
		return v.ValueFrom != nil || slices.ContainsFunc(own.Env, func(o corev1.EnvVar) bool { return o.Name == v.Name })
	})
	c.Env = append(c.Env, own.Env...)
	if c.SecurityContext == nil {
		c.SecurityContext = &corev1.SecurityContext{}
	}
	c.SecurityContext.AllowPrivilegeEscalation = own.SecurityContext.AllowPrivilegeEscalation
	c.SecurityContext.Privileged, c.SecurityContext.ProcMount = nil, nil
	c.SecurityContext.SeccompProfile, c.SecurityContext.AppArmorProfile = nil, nil
	if c.SecurityContext.Capabilities != nil {
		c.SecurityContext.Capabilities.Add = nil
	}
}

// mergeMaps returns the entries of both maps; an entry of second takes precedence.
func mergeMaps(first, second map[string]string) map[string]string {
	all := maps.Clone(first)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, second)
	return all
}

// recovery sets in which cases Kubernetes replaces the failed pod of a Job.
func recovery(spec *batchv1.JobSpec, r task.Recovery) {
	spec.BackoffLimit = new(int32(r.Restarts))
	var rules []batchv1.PodFailurePolicyRule
	if r.RestartsOnEviction() {
		rules = append(rules, batchv1.PodFailurePolicyRule{
			Action:          batchv1.PodFailurePolicyActionIgnore,
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
		})
	}
	if len(r.ExitCodes) > 0 {
		rule := batchv1.PodFailurePolicyRule{
			Action: batchv1.PodFailurePolicyActionIgnore,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				ContainerName: new(container), Operator: batchv1.PodFailurePolicyOnExitCodesOpIn,
			},
		}
		for _, code := range r.ExitCodes {
			rule.OnExitCodes.Values = append(rule.OnExitCodes.Values, int32(code))
		}
		rules = append(rules, rule)
	}
	if len(rules) > 0 {
		spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: rules}
	}
}
