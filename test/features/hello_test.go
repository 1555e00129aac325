package features

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// endless is the script of a task that runs until it is stopped.
const endless = "echo begun\nsleep 3600\n"

// yaml returns a script as the value of a key.
func yaml(key, script string) string {
	return key + ": |\n  " + strings.ReplaceAll(strings.TrimRight(script, "\n"), "\n", "\n  ") + "\n"
}

func TestAttachedSubmitOfTheExample(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	example, err := filepath.Abs("../../examples/hello.yaml")
	must.Succeed(t, err)
	got := ann.cli(t, "jobs", "submit", example).ok(t)
	want := regexp.MustCompile(`^✓ Task submitted successfully
  Task ID: ([a-z0-9]{8})
  Status: submitted
Setting up on hello-([a-z0-9]{8})-[a-z0-9]{5}
Hello from Kubernetes
This is node 0 of 1
step 1 of 3
step 2 of 3
step 3 of 3
$`)
	m := want.FindStringSubmatch(got)
	if m == nil || m[1] != m[2] {
		t.Errorf("the CLI printed\n%s\nwant\n%s", got, want)
	}
}

func TestExitCodesOfTheCLI(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	file := filepath.Join(ann.home, "fails.yaml")
	must.Write(t, file, "name: fails\nrun: |\n  echo before\n  exit 7\n")

	got := ann.cli(t, "jobs", "submit", file)
	got.fails(t, 100)
	if !strings.HasSuffix(got.out, "\nbefore\n") {
		t.Errorf("attached, the CLI printed %q", got.out)
	}
	if want := "failed: Error: exit code 7\n"; !strings.HasSuffix(got.errOut, want) {
		t.Errorf("the CLI said %q, want an end of %q", got.errOut, want)
	}
	failed := ann.tasks(t)[0]
	succeeded := ann.submit(t, "run: true")
	waits := ann.submit(t, "run: true\nvolumes: {/data: nowhere}")
	ann.await(t, succeeded, task.Completed)
	for _, tt := range []struct {
		name string
		args []string
		code int
	}{
		{"failed", []string{failed}, 100},
		{"succeeded", []string{succeeded}, 0},
		{"not finished", []string{"--no-follow", waits}, 101},
		{"unknown", []string{"unknown0"}, 102},
		{"the highest of several", []string{failed, "unknown0", succeeded}, 102},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ann.cli(t, append([]string{"jobs", "logs"}, tt.args...)...).fails(t, tt.code)
		})
	}
}

// Ctrl-C ends the command, but not the task.
func TestInterruptedCLILeavesTheTaskRunning(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	must.Write(t, filepath.Join(ann.home, "endless.yaml"), yaml("run", endless))
	attached := ann.begin(t, "jobs", "submit", "endless.yaml")
	attached.out.awaitText(t, "\nbegun\n")
	must.Succeed(t, attached.Process.Signal(os.Interrupt))
	said := attached.end(t).fails(t, 101)
	id := ann.tasks(t)[0]
	if want := "Task " + id + " is still running"; !strings.Contains(said, want) {
		t.Errorf("the CLI said %q, want %q in it", said, want)
	}
	ann.wantPhase(t, id, task.Running, "after the interrupt")
}
