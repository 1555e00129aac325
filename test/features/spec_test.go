package features

import (
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/taskfile"
)

// What was submitted is told in the fields of a task file, also of a task that was
// refused, and can be submitted again.
func TestATaskAsItWasSubmitted(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.as(t, "ann")
	const text = `
name: asked
num_nodes: 2
resources: {cpus: "1+", any_of: [{memory: 1}, {memory: 2}], labels: {team: a}}
envs: {A: "1", B: ""}
volumes: {/data: nowhere}
setup: |
  echo set up
run: |
  echo $A
`
	id := ann.submit(t, text)
	want, _, err := taskfile.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	ann.stop(t, id)
	for _, again := range []bool{false, true} {
		if again {
			s.process.kill()
			s = s.again(t)
			ann = s.as(t, "ann")
		}
		got, err := ann.Spec(t.Context(), id)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("after a restart: %t: %v (-submitted +told):\n%s", again, err, diff)
		}
	}
	told := s.get(t, "ann", "/tasks/"+id+"/spec")
	if a := s.get(t, "ann", "/tasks/"+id+"/spec", "If-None-Match", told.header.Get("ETag")); a.code != http.StatusNotModified {
		t.Errorf("the same again: %d", a.code)
	}
	if got, _, err := taskfile.ParseJSON(told.body); err != nil || !cmp.Equal(want, got) {
		t.Errorf("what is told is no task: %v", err)
	}
	s.get(t, "ann", "/tasks/nosuchid/spec").wants(t, 404, "Task nosuchid not found")
}

func TestATaskIsSubmittedAgain(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	file := filepath.Join(ann.home, "task.yaml")
	write(t, file, "envs: {WHO: world}\nsecrets: {TOKEN: null}\nrun: echo hello $WHO, ${#TOKEN} letters\n")
	id := ann.submitWithSecret(t, file)
	if r := ann.begin(t, "jobs", "rerun", id).end(t); r.code != 1 || !strings.Contains(r.errOut, "--secret TOKEN") {
		t.Errorf("without the secret: %+v", r)
	}
	out := ann.begin(t, "jobs", "rerun", id, "--secret", "TOKEN=four", "--env", "WHO=all").end(t).ok(t)
	m := regexp.MustCompile(`Task ID: (\S+)`).FindStringSubmatch(out)
	if m == nil || m[1] == id || !strings.Contains(out, "hello all, 4 letters\n") {
		t.Fatalf("jobs rerun printed %q", out)
	}
	if got := ann.task(t, m[1]); got.Phase != task.Completed {
		t.Errorf("it is %s", got.Phase)
	}
	if first := ann.await(t, id, task.Completed); first.Metadata.NumNodes != 1 {
		t.Errorf("the first one: %+v", first)
	}
}
