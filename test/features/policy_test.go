package features

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
)

// No task can mount the claim of a per-node volume by name, although other users know the
// name: the claim belongs to one pod.
func TestPerNodeVolumeCannotBeMountedByName(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann, mallory := s.as(t, "ann"), s.as(t, "mallory")
	owner := ann.submit(t, "volumes: {/scratch: {size: 1Gi, labels: {team: search}}}\n"+yaml("run", "echo secret >/scratch/file; "+endless))
	ann.await(t, owner, task.Running)
	claims, err := s.CoreV1().PersistentVolumeClaims(s.namespace).List(t.Context(), of(owner))
	if err != nil || len(claims.Items) != 1 {
		t.Fatalf("the task has %d claims, want 1: %v", len(claims.Items), err)
	}
	claim := claims.Items[0]
	has(t, "labels", claim.Labels, map[string]string{"team": "search", task.LabelOwner: task.Owner("ann"), task.LabelUser: "ann"})
	has(t, "annotations", claim.Annotations, map[string]string{task.AnnotationUser: "ann"})
	for _, u := range []*user{mallory, ann} {
		file := `{"run":"cat /loot/file","volumes":{"/loot":"` + claim.Name + `"}}`
		if a := s.post(t, u.name, "/tasks/preview", file); a.code != http.StatusOK || !strings.Contains(string(a.body), "no claim of that name that you may use") {
			t.Errorf("a preview for %s: %d %s", u.name, a.code, a.body)
		}
		id := u.submit(t, file)
		u.awaitExplained(t, id, task.Pending, explanation{task.ReasonVolume, "^waiting for volume " + claim.Name, ""})
		// The controller has handled this task once a later task has run.
		u.run(t, "run: true")
		if got := u.task(t, id); got.Phase != task.Pending || len(u.jobs(t, id)) != 0 {
			t.Errorf("a task of %s that names the claim is %s", u.name, sketch(got))
		}
		u.stop(t, id)
	}
	ann.stop(t, owner)
}

func TestAllowedClaims(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]map[string]bool{
		"--literal-claims=labelled":       {"plain": false, "shared": true, "volume": true},
		"--literal-claims=off":            {"plain": false, "shared": false, "volume": true},
		"--reserved-claims=plain,another": {"plain": false, "shared": true, "volume": true},
	} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			ann := start(t, flag).as(t, "ann")
			ann.claimByHand(t, "plain")
			ann.claimByHand(t, "shared")
			label := []byte(`{"metadata":{"labels":{"` + task.LabelShared + `":"true"}}}`)
			if _, err := ann.CoreV1().PersistentVolumeClaims(ann.cluster.namespace).Patch(t.Context(), "shared", "application/merge-patch+json", label, metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			volume := ann.create(t, task.Volume{Name: "volume", Size: "1Gi"})
			file := func(name string) string {
				if name == "volume" {
					name += "-" + volume
				}
				return "volumes: {/data: " + name + "}\nrun: true"
			}
			var waiting []string
			for name, mounted := range want {
				if !mounted {
					waiting = append(waiting, ann.submit(t, file(name)))
				}
			}
			// The controller has handled the other tasks once these have run.
			for name, mounted := range want {
				if mounted {
					ann.run(t, file(name))
				}
			}
			for _, id := range waiting {
				ann.awaitExplained(t, id, task.Pending, explanation{task.ReasonVolume, "^waiting for volume ", ""})
				if n := len(ann.jobs(t, id)); n > 0 {
					t.Errorf("a task that may not mount its claim has %d Jobs", n)
				}
			}
		})
	}
}
