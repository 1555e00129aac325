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
		code       int
		log        string // regular expression for the whole log
	}{
		{"setup leaves early and run runs", `
setup: |
  echo prepared
  exit 0
run: echo ran
`, 0, `prepared\nran\n`},
		{"what setup writes to .bashrc is there in run", `
setup: |
  echo 'export FROM_SETUP=kept' >> ~/.bashrc
  cd /
run: |
  echo "$FROM_SETUP in $PWD"
workdir: /tmp
`, 0, `kept in /tmp\n`},
		{"a setup that fails is the end", `
setup: |
  echo before
  exit 9
run: echo ran
`, 9, `before\n`},
		{"setup alone is a task", `
setup: echo only this
`, 0, `only this\n`},
		{"no set -e", `
run: |
  false
  echo after
`, 0, `after\n`},
		{"the exit code of run", `
run: exit 41
`, 41, ``},
		{"progress is one line", `
run: printf 'step 1\rstep 2\rstep 3\n'
`, 0, `step 1\rstep 2\rstep 3\n`},
		{"the variables of one node", `
envs: {MY_NUMBER: 4, MY_FLAG: true, MY_TEXT: "a $(b) $$c"}
run: |
  echo "$SKYPILOT_NODE_RANK of $SKYPILOT_NUM_NODES, $SKYPILOT_NUM_GPUS_PER_NODE GPUs, $SKYPILOT_SETUP_NODE_RANK"
  echo "$SKYPILOT_NODE_IPS" | wc -l
  echo "$SKYPILOT_NODE_IPS" | head -n1
  echo "$SKYPILOT_TASK_ID $SKYPILOT_USER"
  echo "$MY_NUMBER $MY_FLAG $MY_TEXT"
`, 0, `0 of 1, 0 GPUs, 0\n1\n\d+\.\d+\.\d+\.\d+\nsky-managed-[-0-9]+_task-\w{8}_\w{8}-0 ann\d+@example\.com\n4 true a \$\(b\) \$\$c\n`},
		{"a directory named by a variable", `
envs: {WHERE: tmp}
workdir: /${WHERE}
run: pwd
`, 0, `/tmp\n`},
		{"what a container may not", `
run: |
  grep -E 'NoNewPrivs|Seccomp:' /proc/self/status | tr -s '\t' ' '
  ls /var/run/secrets 2>&1 | wc -l
`, 0, `NoNewPrivs: 1\nSeccomp: 2\n1\n`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			id := ann.submit(t, tt.file)
			got := ann.log(t, id, client.LogOptions{})
			if !regexp.MustCompile(`^` + tt.log + `$`).MatchString(got) {
				t.Errorf("log %q, want %s", got, tt.log)
			}
			phase := task.Completed
			if tt.code != 0 {
				phase = task.Failed
			}
			node := ann.await(t, id, phase).Metadata.Nodes[0]
			if node.ExitCode == nil || *node.ExitCode != tt.code {
				t.Errorf("the node is %+v, want exit code %d", node, tt.code)
			}
		})
	}
}

// SkyPilot accepts a name that Kubernetes does not, and all nodes have one task id.
func TestNodesShareTaskID(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	got := ann.run(t, `
name: two_nodes.v1
num_nodes: 2
run: echo "$SKYPILOT_NODE_RANK/$SKYPILOT_NUM_NODES $SKYPILOT_TASK_ID"
`)
	lines := strings.Split(strings.TrimSpace(got), "\n")
	form := regexp.MustCompile(`^node-(\d) \| (\d)/2 (sky-managed-\S+_two_nodes\.v1_\S+-0)$`)
	ids := map[string]bool{}
	for _, line := range lines {
		m := form.FindStringSubmatch(line)
		if m == nil || m[1] != m[2] {
			t.Fatalf("log %q", got)
		}
		ids[m[3]] = true
	}
	if len(lines) != 2 || len(ids) != 1 {
		t.Errorf("log %q, want a line of each node with the same id", got)
	}
}

// The first node that fails ends the other nodes, which would otherwise run for hours.
func TestOneFailedNodeEndsTheOthers(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	for _, script := range []string{"run", "setup"} {
		id := ann.submit(t, "num_nodes: 3\n"+yaml(script, `if [ "$SKYPILOT_NODE_RANK" = 1 ]; then exit 1; fi; sleep 10000`))
		if s := ann.await(t, id, task.Failed); !strings.Contains(s.Metadata.Message, "node 1: exit code 1") {
			t.Errorf("%s: %s", script, sketch(s))
		}
		eventually(t, "the other nodes end", func() (string, bool) {
			running := 0
			for _, job := range ann.jobs(t, id) {
				running += int(job.Status.Active)
			}
			return fmt.Sprintf("%d run", running), running == 0
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
		{"none", 1, task.Failed},
		{"{strategy: none, max_restarts_on_errors: 1}", 1, task.Completed},
		{"{max_restarts_on_errors: 1}", 2, task.Failed},
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

// The parts of a pod that a task may set are in the running pod.
func TestPodConfig(t *testing.T) {
	t.Parallel()
	ann := start(t, "--allowed-annotations", "example.com/").as(t, "ann")
	got := ann.run(t, `
resources: {labels: {team: search}}
config:
  kubernetes:
    custom_metadata: {annotations: {example.com/why: a test}}
    pod_config:
      spec:
        nodeSelector: {kubernetes.io/os: linux}
        securityContext: {runAsUser: 1234, runAsGroup: 1234, fsGroup: 4321}
        terminationGracePeriodSeconds: 1
        volumes: [{name: scratch, emptyDir: {medium: Memory, sizeLimit: 16Mi}}]
        containers:
          - env: [{name: EXTRA, value: more}]
            volumeMounts: [{name: scratch, mountPath: /scratch}]
run: |
  id -u; id -g
  echo $EXTRA
  touch /scratch/x && ls /scratch
`)
	if want := "1234\n1234\nmore\nx\n"; got != want {
		t.Errorf("log %q, want %q", got, want)
	}
	for _, pod := range ann.pods(t, "") {
		has(t, "labels", pod.Labels, map[string]string{"team": "search"})
		has(t, "annotations", pod.Annotations, map[string]string{"example.com/why": "a test"})
		if *pod.Spec.TerminationGracePeriodSeconds != 1 {
			t.Errorf("the pod is %+v", pod.Spec)
		}
	}
}
