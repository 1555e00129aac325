package policy

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/bucket"
	"k8s-cli/pkg/task/problem"
)

// annotated returns a task with an annotation.
func annotated(key string) task.Spec {
	return task.Spec{Run: "x", Config: task.Config{Kubernetes: task.Kubernetes{CustomMetadata: task.CustomMetadata{Annotations: map[string]string{key: "v"}}}}}
}

// labelled returns a task with a label.
func labelled(key string) task.Spec {
	return task.Spec{Run: "x", Resources: task.Resources{Labels: map[string]string{key: "v"}}}
}

// withPod returns a task with a pod_config.
func withPod(config string) task.Spec {
	return task.Spec{Run: "x", Config: task.Config{Kubernetes: task.Kubernetes{PodConfig: json.RawMessage(config)}}}
}

func TestPolicyOfKeys(t *testing.T) {
	listed := Tasks{
		Annotations: Keys{"example.com/key", "vendor.example/", "io.example."},
		Labels:      Keys{"example.com/key", "vendor.example/"},
	}
	for _, tt := range []struct {
		key              string
		annotation       bool // allowed by every policy
		label            bool
		listedAnnotation bool // allowed by listed
		listedLabel      bool
	}{
		{"note", true, true, true, true},
		{"team_a-b", true, true, true, true},
		{"cluster-autoscaler.kubernetes.io/safe-to-evict", true, false, true, false},
		{"karpenter.sh/do-not-disrupt", true, false, true, false},
		{"prometheus.io/scrape", true, false, true, false},
		{"prometheus.io/port", true, false, true, false},
		{"kueue.x-k8s.io/podset-required-topology", true, false, true, false},
		{"kueue.x-k8s.io/queue-name", false, true, false, true},
		{"kueue.x-k8s.io/priority-class", false, false, false, false},
		{"example.com/key", false, false, true, true},
		{"example.com/key2", false, false, false, false},
		{"sub.example.com/key", false, false, false, false},
		{"vendor.example/anything", false, false, true, true},
		{"vendor.example.evil/anything", false, false, false, false},
		{"io.example.option", false, false, true, false},

		{"k8s.v1.cni.cncf.io/networks", false, false, false, false},
		{"cni.projectcalico.org/ipAddrs", false, false, false, false},
		{"iam.amazonaws.com/role", false, false, false, false},
		{"sidecar.istio.io/userVolume", false, false, false, false},
		{"sidecar.istio.io/proxyImage", false, false, false, false},
		{"vault.hashicorp.com/agent-inject", false, false, false, false},
		{"io.kubernetes.cri-o.Devices", false, false, false, false},
		{"io.katacontainers.config.hypervisor.path", false, false, false, false},
		{"run.oci.handler", false, false, false, false},
		{"cluster-autoscaler.kubernetes.io/other", false, false, false, false},
	} {
		for _, check := range []struct {
			name string
			p    Tasks
			task task.Spec
			ok   bool
			flag string
		}{
			{"annotation", Tasks{}, annotated(tt.key), tt.annotation, "--allowed-annotations"},
			{"label", Tasks{}, labelled(tt.key), tt.label, "--allowed-labels"},
			{"annotation, with a list", listed, annotated(tt.key), tt.listedAnnotation, "--allowed-annotations"},
			{"label, with a list", listed, labelled(tt.key), tt.listedLabel, "--allowed-labels"},
		} {
			err := check.p.Check(check.task)
			if (err == nil) != check.ok {
				t.Errorf("%s %s: %v, want allowed: %t", check.name, tt.key, err, check.ok)
			}
			if err != nil && (!errors.Is(err, problem.Invalid) || !strings.Contains(err.Error(), `"`+tt.key+`"`) || !strings.Contains(err.Error(), check.flag)) {
				t.Errorf("%s %s: %v names neither the key nor %s", check.name, tt.key, err, check.flag)
			}
		}
	}
}

func TestPolicyNamesTheField(t *testing.T) {
	all := Tasks{
		Labels: Keys{"a.b/c"}, Annotations: Keys{"a.b/c"}, PriorityClasses: []string{"high"}, RuntimeClasses: []string{"nvidia"},
		Schedulers: []string{"volcano"}, PullSecrets: []string{"registry"}, Tolerations: Keys{"node-role.kubernetes.io/"}, Devices: Keys{"rdma/"},
	}
	anyTaint := Tasks{Tolerations: Keys{AnyTaint}}
	const pod = "config.kubernetes.pod_config."
	alternatives := []task.Resources{{}, {Labels: map[string]string{"a.b/c": ""}}}
	for _, tt := range []struct {
		task   task.Spec
		want   string // error of the zero policy; empty if the zero policy allows the task
		policy Tasks  // policy that allows the task
	}{
		{task.Spec{Run: "x"}, "", all},
		{labelled("a.b/c"), `resources.labels: "a.b/c" is not allowed on this server; its administrator can add it to --allowed-labels`, all},
		{task.Spec{Resources: task.Resources{AnyOf: alternatives}}, `resources.any_of[1].labels: "a.b/c" is not`, all},
		{task.Spec{Resources: task.Resources{Ordered: alternatives}}, `resources.ordered[1].labels: "a.b/c" is not`, all},
		{task.Spec{Ephemeral: map[string]task.Ephemeral{"/x": {Labels: map[string]string{"a.b/c": ""}}}}, `volumes./x.labels: "a.b/c" is not`, all},
		{task.Spec{Config: task.Config{Kubernetes: task.Kubernetes{CustomMetadata: task.CustomMetadata{Labels: map[string]string{"a.b/c": ""}}}}}, `config.kubernetes.custom_metadata.labels: "a.b/c" is not`, all},
		{annotated("a.b/c"), `config.kubernetes.custom_metadata.annotations: "a.b/c" is not allowed on this server; its administrator can add it to --allowed-annotations`, all},
		{withPod(`{"metadata":{"labels":{"a.b/c":""}}}`), pod + `metadata.labels: "a.b/c" is not`, all},
		{withPod(`{"metadata":{"annotations":{"a.b/c":""}}}`), pod + `metadata.annotations: "a.b/c" is not`, all},
		{task.Spec{Resources: task.Resources{PriorityClass: "high"}}, `resources.priority_class: "high" is not allowed on this server; its administrator can add it to --allowed-priority-classes`, all},
		{task.Spec{Resources: task.Resources{AnyOf: []task.Resources{{}, {PriorityClass: "high"}}}}, `resources.any_of[1].priority_class: "high" is not`, all},
		{withPod(`{"spec":{"priorityClassName":"high"}}`), pod + `spec.priorityClassName: "high" is not allowed on this server; its administrator can add it to --allowed-priority-classes`, all},
		{withPod(`{"spec":{"runtimeClassName":"nvidia"}}`), pod + `spec.runtimeClassName: "nvidia" is not allowed on this server; its administrator can add it to --allowed-runtime-classes`, all},
		{withPod(`{"spec":{"schedulerName":"volcano"}}`), pod + `spec.schedulerName: "volcano" is not allowed on this server; its administrator can add it to --allowed-schedulers`, all},
		{withPod(`{"spec":{"schedulerName":"default-scheduler"}}`), "", all},
		{withPod(`{"spec":{"imagePullSecrets":[{"name":"registry"}]}}`), pod + `spec.imagePullSecrets[0].name: "registry" is not allowed on this server; its administrator can add it to --allowed-pull-secrets`, all},
		{withPod(`{"spec":{"tolerations":[{"key":"dedicated","operator":"Exists"}]}}`), "", all},
		{withPod(`{"spec":{"tolerations":[{"key":"nvidia.com/gpu","operator":"Exists"}]}}`), "", all},
		{withPod(`{"spec":{"tolerations":[{"key":"dedicated"},{"operator":"Exists"}]}}`), pod + `spec.tolerations[1]: a toleration without a key is not allowed on this server; name a taint, or have the administrator add "*" to --allowed-tolerations`, anyTaint},
		{withPod(`{"spec":{"tolerations":[{"operator":"Exists","effect":"NoExecute"}]}}`), pod + `spec.tolerations[0]: a toleration without a key is not`, anyTaint},
		{withPod(`{"spec":{"tolerations":[{"key":"node-role.kubernetes.io/control-plane"}]}}`), pod + `spec.tolerations[0].key: "node-role.kubernetes.io/control-plane" is not allowed on this server; its administrator can add it to --allowed-tolerations`, all},
		{withPod(`{"spec":{"tolerations":[{"key":"CriticalAddonsOnly"}]}}`), pod + `spec.tolerations[0].key: "CriticalAddonsOnly" is not`, anyTaint},
		{withPod(`{"spec":{"tolerations":[{"key":"node.kubernetes.io/unschedulable"}]}}`), pod + `spec.tolerations[0].key: "node.kubernetes.io/unschedulable" is not`, anyTaint},
		{withPod(`{"spec":{"containers":[{"resources":{"limits":{"rdma/ib":"1"}}}]}}`), pod + `spec.containers[0].resources.limits: "rdma/ib" is not allowed on this server; its administrator can add it to --allowed-devices`, all},
		{withPod(`{"spec":{"terminationGracePeriodSeconds":60}}`), "", Tasks{GracePeriod: time.Minute}},
	} {
		err := Tasks{}.Check(tt.task)
		if (err == nil) != (tt.want == "") || err != nil && (!strings.HasPrefix(err.Error(), tt.want) || !errors.Is(err, problem.Invalid)) {
			t.Errorf("got %v\nwant %s", err, tt.want)
		}
		if err := tt.policy.Check(tt.task); err != nil {
			t.Errorf("%+v: %v", tt.policy, err)
		}
	}
	other := Tasks{PriorityClasses: []string{"low"}, RuntimeClasses: []string{"gvisor"}, Schedulers: []string{"kube"}, PullSecrets: []string{"other"}}
	for _, spec := range []string{`"priorityClassName":"high"`, `"runtimeClassName":"nvidia"`, `"schedulerName":"volcano"`, `"imagePullSecrets":[{"name":"other"},{"name":"registry"}]`} {
		if err := other.Check(withPod(`{"spec":{` + spec + `}}`)); !errors.Is(err, problem.Invalid) {
			t.Errorf("%s passes a list of others: %v", spec, err)
		}
	}
}

func TestEntriesOfLists(t *testing.T) {
	for entry, ok := range map[string]bool{
		"example.com/key": true, "example.com/": true, "io.kubernetes.cri-o.": true, "io.example.option": true, "note": true,
		"": false, "/": false, ".": false, "a b": false, "*": false, "example.com/*": false, "a/b/": false, "EXAMPLE.com/": false,
		"app.kubernetes.io/": false, "app.kubernetes.io/name": false, "skypilot-owner": false, "batch.kubernetes.io/": false,
	} {
		if err := CheckKey(entry); (err == nil) != ok {
			t.Errorf("%q: %v", entry, err)
		}
	}
	for entry, ok := range map[string]bool{"registry": true, "a.b": true, "": false, "A": false, "a/b": false, "*": false} {
		if err := CheckName(entry); (err == nil) != ok {
			t.Errorf("%q: %v", entry, err)
		}
	}
}

// FuzzPolicy checks that a key is allowed only if it is plain or if the policy lists the
// key or a prefix of it.
func FuzzPolicy(f *testing.F) {
	for _, seed := range [][2]string{
		{"note", ""},
		{"example.com/key", "example.com/"},
		{"example.com/key", "example.com/key"},
		{"example.com.evil/key", "example.com/"},
		{"io.kubernetes.cri-o.Devices", "io.kubernetes."},
		{"iam.amazonaws.com/role", "amazonaws.com/"},
		{"app.kubernetes.io/name", "app.kubernetes.io/"},
		{"./", "."},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, key, entry string) {
		p := Tasks{Annotations: Keys{entry}, Labels: Keys{entry}}
		named := key == entry || strings.HasPrefix(key, entry) && (strings.HasSuffix(entry, "/") || strings.HasSuffix(entry, "."))
		for _, kind := range []struct {
			task    task.Spec
			builtIn Keys
		}{{annotated(key), allowedAnnotations}, {labelled(key), allowedLabels}} {
			valid, allowed := kind.task.Validate() == nil, p.Check(kind.task) == nil
			if plain := !strings.ContainsAny(key, "/."); valid && allowed != (plain || named || slices.Contains(kind.builtIn, key)) {
				t.Errorf("%q with %q in the list is allowed: %t", key, entry, allowed)
			}
			if valid && task.IsReserved(key) {
				t.Errorf("a task may set the reserved key %q", key)
			}
		}
	})
}

func TestUnreadablePodConfigIsRejected(t *testing.T) {
	err := Tasks{}.Check(withPod(`{"spec":{"schedulerName":7}}`))
	if !errors.Is(err, problem.Invalid) || !strings.HasPrefix(err.Error(), "config.kubernetes.pod_config: ") {
		t.Errorf("error %v", err)
	}
}

func TestPolicyNamesTheOnlyAlternative(t *testing.T) {
	for want, r := range map[string]task.Resources{
		"resources.priority_class: ":            {PriorityClass: "high"},
		"resources.any_of[0].priority_class: ":  {AnyOf: []task.Resources{{PriorityClass: "high"}}},
		"resources.ordered[0].priority_class: ": {Ordered: []task.Resources{{PriorityClass: "high"}}},
	} {
		if err := (Tasks{}).Check(task.Spec{Resources: r}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s...", err, want)
		}
	}
}

func TestBuckets(t *testing.T) {
	spec := task.Spec{Run: "x", Buckets: bucket.Mounts{"/a": {URL: "s3://data/ann"}, "/b": {URL: "gs://data"}}, Secrets: map[string]string{"GOOGLE_CREDENTIALS": task.Redacted}}
	if err := (Tasks{}).Check(spec); !errors.Is(err, problem.FeatureDisabled) || problem.Field(err) != "file_mounts" {
		t.Errorf("without an image: %v", err)
	}
	p := Tasks{
		Transfer:    bucket.Transfer{Image: "image", Max: 1},
		BucketRules: bucket.Rules{{URL: "s3://data/{user}", Secret: "users"}, {URL: "gs://data", Secret: "all"}},
	}
	if err := p.Check(spec); err != nil {
		t.Error(err)
	}
	for user, secret := range map[string]string{"ann": "users", "bob": ""} {
		got := p.TransferOf(spec, user)
		if got.Image != "image" || got.Max != 1 || got.Secrets["/a"] != secret || got.Secrets["/b"] != "" {
			t.Errorf("of %s: %+v", user, got)
		}
	}
	if got := p.TransferOf(task.Spec{}, "ann"); got.Image != "" {
		t.Errorf("without buckets: %+v", got)
	}
}
