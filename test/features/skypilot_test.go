package features

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// Typical SkyPilot task files and their results.
func TestSkyPilotTaskFiles(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	for _, tt := range []struct {
		name, file string
		log        string // regular expression for the whole log
	}{
		{"what setup writes to .bashrc is there in run", `
setup: |
  echo 'export FROM_SETUP=kept' >> ~/.bashrc
  cd /
run: |
  echo "$FROM_SETUP in $PWD"
workdir: /tmp
`, `kept in /tmp\n`},
		{"no set -e", `
run: |
  false
  echo after
`, `after\n`},
		{"the variables of one node", `
envs: {MY_NUMBER: 4, MY_FLAG: true, MY_TEXT: "a $(b) $$c"}
run: |
  echo "$SKYPILOT_NODE_RANK of $SKYPILOT_NUM_NODES, $SKYPILOT_NUM_GPUS_PER_NODE GPUs, $SKYPILOT_SETUP_NODE_RANK"
  echo "$SKYPILOT_NODE_IPS" | wc -l
  echo "$SKYPILOT_NODE_IPS" | head -n1
  echo "$SKYPILOT_TASK_ID $SKYPILOT_USER"
  echo "$MY_NUMBER $MY_FLAG $MY_TEXT"
`, `0 of 1, 0 GPUs, 0\n1\n\d+\.\d+\.\d+\.\d+\nsky-managed-[-0-9]+_task-\w{8}_\w{8}-0 ann\d+@example\.com\n4 true a \$\(b\) \$\$c\n`},
		{"a directory named by a variable", `
envs: {WHERE: tmp}
workdir: /${WHERE}
run: pwd
`, `/tmp\n`},
		{"what a container may not", `
run: |
  grep -E 'NoNewPrivs|Seccomp:' /proc/self/status | tr -s '\t' ' '
  ls /var/run/secrets 2>&1 | wc -l
`, `NoNewPrivs: 1\nSeccomp: 2\n1\n`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			id := ann.submit(t, tt.file)
			got := ann.log(t, id, client.LogOptions{})
			if !regexp.MustCompile(`^` + tt.log + `$`).MatchString(got) {
				t.Errorf("log %q, want %s", got, tt.log)
			}
			ann.await(t, id, task.Completed)
		})
	}
}

// max_restarts_on_errors allows a limited number of restarts, recover_on_exit_codes any
// number. Without both fields, a task runs once.
func TestJobRecovery(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	if _, err := ann.CreateVolume(t.Context(), task.Volume{Name: "tries", Size: "1Gi"}); err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct {
		recovery string
		failures int
		want     task.Phase
	}{
		{"{strategy: none, max_restarts_on_errors: 1}", 1, task.Completed},
		{"{recover_on_exit_codes: [7, 33]}", 1, task.Completed},
		{"{recover_on_exit_codes: 8}", 1, task.Failed},
	} {
		t.Run(tt.recovery, func(t *testing.T) {
			t.Parallel()
			id := ann.submit(t, fmt.Sprintf("resources: {job_recovery: %s}\nvolumes: {/tries: {name: tries, sub_path: case-%d}}\n", tt.recovery, i)+
				yaml("run", fmt.Sprintf("echo try >> /tries/all\nif [ $(wc -l < /tries/all) -le %d ]; then exit 7; fi\n", tt.failures)))
			ann.await(t, id, tt.want)
		})
	}
}

// A script and a variable of the maximum size reach the container.
func TestSizeLimitsOfScriptsAndVariables(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	const size = 128<<10 - 200
	for name, tt := range map[string]struct{ file, want string }{
		"a script":         {"run: |\n  echo begin\n  true '" + strings.Repeat("$$(x)", (size-100)/5) + "'\n  echo end\n", "begin\nend\n"},
		"two scripts":      {"setup: |\n  true '" + strings.Repeat("s", size/2) + "'\n  echo setup\nrun: |\n  true '" + strings.Repeat("$", size/2-100) + "'\n  echo run\n", "setup\nrun\n"},
		"a variable":       {"run: echo ${#BIG}\nenvs: {BIG: '" + strings.Repeat("$", size) + "'}\n", fmt.Sprintf("%d\n", size)},
		"a long directory": {"workdir: /tmp/" + strings.Repeat("./", 2000) + "\nrun: echo fine\n", "fine\n"}, // a system call accepts at most 4096 bytes of path
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := ann.post(t, ann.name, "/tasks/submit", tt.file, "Content-Type", "application/yaml")
			id := decode[task.Submitted](t, answer).ID
			if got := ann.log(t, id, client.LogOptions{}); got != tt.want {
				t.Errorf("log %.300q, want %q; %s", got, tt.want, sketch(ann.task(t, id)))
			}
		})
	}
}
