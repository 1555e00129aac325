package features

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"k8s-cli/pkg/task"
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

func TestJobName(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	for file, name := range map[string]string{
		"name: train\nrun: true": "train-%[1]s",
		"run: true":              "task-%[1]s-%[1]s",
		"name: " + strings.Repeat("n", 253) + "\nrun: true": strings.Repeat("n", 54) + "-%[1]s",
	} {
		id := ann.submit(t, file+"\nresources: {image_id: registry.invalid/none}")
		job := ann.awaitJobs(t, id, 1)[0]
		if want := fmt.Sprintf(name, id); job.Name != want {
			t.Errorf("the Job is %s, want %s", job.Name, want)
		}
		if s := ann.task(t, id); s.Metadata.JobName != job.Name || !cmp.Equal(s.Metadata.NodeJobs, []string{job.Name}) {
			t.Errorf("the status says job_name %s, node_jobs %v, want %s", s.Metadata.JobName, s.Metadata.NodeJobs, job.Name)
		}
	}
}

func TestDefaultImage(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	bob := start(t, "--default-image", "registry.invalid/default:1").as(t, "bob")
	for u, want := range map[*user]string{ann: "python:3.13-slim", bob: "registry.invalid/default:1"} {
		job := u.awaitJobs(t, u.submit(t, "run: true"), 1)[0]
		if got := image(job); got != want {
			t.Errorf("the image is %s, want %s", got, want)
		}
	}
}

func image(job batchv1.Job) string { return job.Spec.Template.Spec.Containers[0].Image }

func TestClaimSpec(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann@example.com")
	plain, err := ann.CreateVolume(t.Context(), task.Volume{Name: "plain", Size: "10Gi"})
	if err != nil {
		t.Fatal(err)
	}
	shared, err := ann.CreateVolume(t.Context(), task.Volume{
		Name: "shared", Size: "1.5Ti", StorageClass: new("nobody-provides"), AccessModes: []string{"ReadWriteMany", "ReadOnlyMany"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		id, name, size, class string
		modes                 []corev1.PersistentVolumeAccessMode
	}{
		{plain.ID, "plain", "10Gi", "standard", []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}},
		{shared.ID, "shared", "1.5Ti", "nobody-provides", []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany, corev1.ReadOnlyMany}},
	} {
		claim := ann.awaitClaim(t, tt.name+"-"+tt.id)
		has(t, "labels of "+claim.Name, claim.Labels, map[string]string{
			"skypilot-volume": "true",
			"volume-id":       tt.id,
			"volume-name":     tt.name,
			"username":        "ann-example.com",
		})
		status, err := ann.Volume(t.Context(), tt.id)
		if err != nil {
			t.Fatal(err)
		}
		has(t, "annotations of "+claim.Name, claim.Annotations, map[string]string{"created-at": status.CreatedAt.Format(time.RFC3339Nano)})
		size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
		if want := resource.MustParse(tt.size); size.Cmp(want) != 0 {
			t.Errorf("claim %s asks for %s, want %s", claim.Name, size.String(), tt.size)
		}
		if class := claim.Spec.StorageClassName; class == nil || *class != tt.class {
			t.Errorf("claim %s has class %v, want %s", claim.Name, class, tt.class)
		}
		if diff := cmp.Diff(tt.modes, claim.Spec.AccessModes); diff != "" {
			t.Errorf("access modes of %s (-want +got):\n%s", claim.Name, diff)
		}
	}
}

// Kubernetes expands $$ and $(NAME) in commands and variables of containers. The scripts of
// users arrive unchanged.
func TestDollarsReachTheContainerUntouched(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	const odd = "$$ $(HOME) $$(HOME) $$$$ ${HOME} $NODE_RANK `x` \\ \" ' \t ü🚀"
	script := "cat <<'END'\n" + odd + "\nEND\n"
	quoted, err := json.Marshal(odd)
	if err != nil {
		t.Fatal(err)
	}
	got := ann.run(t, "envs: {ODD: "+string(quoted)+", MANY: \"a\\nb\\n\"}\n"+yaml("setup", script)+yaml("run", script+`printf '%s\n' "$ODD" "$MANY" "$(echo inner)"`))
	if want := odd + "\n" + odd + "\n" + odd + "\na\nb\n\ninner\n"; got != want {
		t.Errorf("log\n%q\nwant\n%q", got, want)
	}
}

func TestLargeScriptRuns(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	const lines = 3500
	script := "n=0\n" + strings.Repeat("n=$((n+1)) # $(x)\n", lines) + "echo $n\n" // 63 kB
	big := strings.Repeat("# a comment\n", 3000) + "echo setup\n"                  // 36 kB
	if got, want := ann.run(t, yaml("setup", big)+yaml("run", script)), fmt.Sprintf("setup\n%d\n", lines); got != want {
		t.Errorf("log %q, want %q", got, want)
	}
}

// The environment of a task consists of its own variables and the variables of the launcher,
// which take precedence.
func TestEnvironmentOfANode(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	got := ann.run(t, `
envs: {EPOCHS: 100, NUM_NODES: mine, EMPTY: ""}
run: echo "$EPOCHS,$NODE_RANK,$NUM_NODES,$SKYPILOT_NODE_RANK,$SKYPILOT_NUM_NODES,${EMPTY-unset}"; ls /var/run/secrets 2>/dev/null; true
`)
	if want := "100,0,1,0,1,\n"; got != want {
		t.Errorf("log %q, want %q", got, want)
	}
}
