package features

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"k8s-cli/test/testkit/must"
)

// has checks that got contains all pairs of want; got may contain more.
func has(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s: %s is %q, want %q", what, key, got[key], value)
		}
	}
}

func TestJobSpec(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann@example.com")
	id := ann.submit(t, `
name: My_Training.v2
num_nodes: 2
resources: {cpus: "500m", memory: 1Gi, accelerators: "V100:2", image_id: "docker:registry.invalid/image:1"}
envs: {EPOCHS: "100", NODE_RANK: mine}
run: "true"
`)
	status := ann.task(t, id)
	for rank, job := range ann.awaitJobs(t, id, 2) {
		name := fmt.Sprintf("my-training-v2-%s-node-%d", id, rank)
		if job.Name != name || status.Metadata.NodeJobs[rank] != name {
			t.Errorf("the Job is %s, the status says %s, want %s", job.Name, status.Metadata.NodeJobs[rank], name)
		}
		labels := map[string]string{
			"skypilot-task": "true",
			"task-id":       id,
			"username":      "ann-example.com",
			"node-idx":      fmt.Sprint(rank),
		}
		has(t, "labels of the pod", job.Spec.Template.Labels, labels)
		labels["task-name"] = "My_Training.v2"
		has(t, "labels of "+job.Name, job.Labels, labels)
		has(t, "annotations of "+job.Name, job.Annotations, map[string]string{
			"num-nodes":  "2",
			"created-at": status.CreatedAt.Format(time.RFC3339Nano),
		})
		if job.Spec.BackoffLimit == nil || *job.Spec.BackoffLimit != 0 {
			t.Errorf("backoffLimit is %v, want 0", job.Spec.BackoffLimit)
		}
		pod := job.Spec.Template.Spec
		if pod.RestartPolicy != corev1.RestartPolicyNever || pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
			t.Errorf("restartPolicy %s, automountServiceAccountToken %v", pod.RestartPolicy, pod.AutomountServiceAccountToken)
		}
		container := pod.Containers[0]
		if container.Image != "registry.invalid/image:1" || len(pod.Containers) != 1 {
			t.Errorf("%d containers, the first of %s", len(pod.Containers), container.Image)
		}
		env := map[string]string{}
		for _, v := range container.Env {
			env[v.Name] = v.Value
		}
		has(t, "environment", env, map[string]string{"EPOCHS": "100", "NODE_RANK": fmt.Sprint(rank), "NUM_NODES": "2"})
		got := amounts(container.Resources)
		want := map[string]string{
			"requests.cpu": "500m", "requests.memory": "1Gi",
			"limits.cpu": "500m", "limits.memory": "1Gi", "limits.nvidia.com/gpu": "2",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("resources (-want +got):\n%s", diff)
		}
	}
}

func amounts(r corev1.ResourceRequirements) map[string]string {
	got := map[string]string{}
	for name, q := range r.Requests {
		got["requests."+string(name)] = q.String()
	}
	for name, q := range r.Limits {
		got["limits."+string(name)] = q.String()
	}
	return got
}

// Kubernetes expands $$ and $(NAME) in commands and variables of containers. The scripts of
// users arrive unchanged.
func TestDollarsReachTheContainerUntouched(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	const odd = "$$ $(HOME) $$(HOME) $$$$ ${HOME} $NODE_RANK `x` \\ \" ' \t ü🚀"
	script := "cat <<'END'\n" + odd + "\nEND\n"
	quoted := must.Encode(t, odd)
	got := ann.run(t, "envs: {ODD: "+string(quoted)+", MANY: \"a\\nb\\n\"}\n"+yaml("setup", script)+yaml("run", script+`printf '%s\n' "$ODD" "$MANY" "$(echo inner)"`))
	if want := odd + "\n" + odd + "\n" + odd + "\na\nb\n\ninner\n"; got != want {
		t.Errorf("log\n%q\nwant\n%q", got, want)
	}
}
