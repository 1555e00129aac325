package features

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
)

func TestLoginIsRemembered(t *testing.T) {
	t.Parallel()
	s := start(t)
	u := s.as(t, "")
	if got := u.cli(t, "auth", "whoami").ok(t); got != "Not logged in\n" {
		t.Errorf("before the login: %q", got)
	}
	for _, args := range [][]string{{"jobs", "list"}, {"jobs", "status", "x"}, {"volumes", "list"}, {"jobs", "stop", "--all"}} {
		said := u.cli(t, args...).fails(t, 1)
		if want := "Error: Not logged in. Run 'k8s-cli auth login <username>' first\n"; said != want {
			t.Errorf("%v says %q, want %q", args, said, want)
		}
	}
	for _, name := range []string{"ann@example.com", "bob"} {
		if got, want := u.cli(t, "auth", "login", name).ok(t), "✓ Logged in as: "+name+"\n"; got != want {
			t.Errorf("login printed %q, want %q", got, want)
		}
		if got, want := u.cli(t, "auth", "whoami").ok(t), "Logged in as: "+name+"\n"; !strings.HasPrefix(got, want) {
			t.Errorf("whoami printed %q, want %q", got, want)
		}
		raw, err := os.ReadFile(filepath.Join(u.home, ".config", "k8s-cli", "user.json"))
		var saved struct{ Username string }
		if err != nil || json.Unmarshal(raw, &saved) != nil || saved.Username != name {
			t.Errorf("user.json holds %q, %v", raw, err)
		}
	}
	s.as(t, "bob").submit(t, idle)
	if got := u.cli(t, "jobs", "list").ok(t); !strings.Contains(got, "\nTotal tasks: 1\n") {
		t.Errorf("bob's list is\n%s", got)
	}
}

// matches compares the lines of a text with regular expressions.
func matches(t *testing.T, what, got string, lines ...string) {
	t.Helper()
	if want := "^" + strings.Join(lines, "\n") + "$"; !regexp.MustCompile(want).MatchString(got) {
		t.Errorf("%s is\n%s\nwant\n%s", what, got, want)
	}
}

const (
	second = `20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d`
	taskID = `[a-z0-9]{8}`
)

func TestTablesOfTheCLI(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann, bob := s.as(t, "ann@example.com"), s.as(t, "bob")
	if got := ann.cli(t, "jobs", "list").ok(t); got != "No tasks found\n" {
		t.Errorf("an empty list: %q", got)
	}
	if got := ann.cli(t, "volumes", "list").ok(t); got != "No volumes found\n" {
		t.Errorf("an empty list of volumes: %q", got)
	}
	first := ann.submit(t, "name: train\nnum_nodes: 2\n"+idle)
	other := bob.submit(t, "name: other\n"+idle)
	volume := ann.create(t, task.Volume{Name: "data", Size: "10Gi", StorageClass: new("nobody-provides"), AccessModes: []string{"ReadWriteMany", "ReadOnlyMany"}})

	matches(t, "jobs list", ann.cli(t, "jobs", "list").ok(t),
		`Task ID +Name +Status +Created +Age +Duration +Nodes +Resources +Reason`, first+` +train +pending +`+second+` +\d+\w+ +- +2 +- +\w+`, ``, `Total tasks: 1`, ``)
	matches(t, "jobs list --all-users --details", ann.cli(t, "jobs", "list", "-u", "-d").ok(t),
		`Task ID +Name +Status +Created +User +Job Name +Namespace +Age +Duration +Nodes +Resources +Reason`,
		other+` +other +pending +`+second+` +bob +other-`+other+` +`+s.namespace+` .*`,
		first+` +train +pending +`+second+` +ann@example.com +train-`+first+` +`+s.namespace+` .*`, ``, `Total tasks: 2`, ``)
	matches(t, "volumes list --details", ann.cli(t, "volumes", "list", "--details").ok(t),
		`Volume ID +Name +Size +Status +Created +Storage Class +Access Modes +PVC Name +Age`,
		volume+` +data +10Gi +Pending +`+second+` +nobody-provides +ReadWriteMany,ReadOnlyMany +data-`+volume+` +\d+\w+`, ``, `Total volumes: 1`, ``)
	matches(t, "volumes list --all-users", bob.cli(t, "volumes", "list", "--all-users").ok(t),
		`Volume ID +Name +Size +Status +Created +User +Age`, volume+` +data +10Gi +Pending +`+second+` +ann@example.com +\d+\w+`, ``, `Total volumes: 1`, ``)
	shown := ann.cli(t, "jobs", "status", first).ok(t)
	for _, want := range []string{
		"Task Details\n", "  Task ID: " + first + "\n", "  Name: train\n", "  Status: pending\n", "  Created: 20", "  Updated: 20",
		"\nMetadata\n", "  job_name: train-" + first + "\n", "  namespace: " + s.namespace + "\n", "  num_nodes: 2\n", "  reason: VolumeNotFound\n",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("jobs status lacks %q:\n%s", want, shown)
		}
	}
	if got := ann.cli(t, "jobs", "stop", "--all").ok(t); got != "✓ Tasks stopped successfully\n  Count: 1\n  Status: stopped\n" {
		t.Errorf("jobs stop --all printed %q", got)
	}
	if got := bob.cli(t, "jobs", "stop", "--all", "--all-users"); got.code != 1 || !strings.Contains(got.errOut, "cannot ask for confirmation without a terminal; pass --yes to skip the prompt") {
		t.Errorf("stopping all tasks of all users, which nobody confirmed: %+v", got)
	}
	if got := bob.cli(t, "jobs", "stop", "--all", "--all-users", "--yes").ok(t); !strings.Contains(got, "  Count: 1\n") {
		t.Errorf("jobs stop --all --all-users printed %q", got)
	}
	if got := ann.cli(t, "volumes", "delete", volume); got.code != 1 || !strings.Contains(got.errOut, "cannot ask for confirmation without a terminal; pass --force to skip the prompt") {
		t.Errorf("deleting a volume, which nobody confirmed: %+v", got)
	}
	ann.volume(t, volume)
}

func TestDataForPrograms(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.as(t, "ann@example.com")
	testkit.Write(t, filepath.Join(ann.home, "task.yaml"), "name: train\n"+idle)
	var submitted task.Submitted
	parse(t, ann.cli(t, "jobs", "submit", "task.yaml", "-o", "json").ok(t), &submitted)
	if want := task.NewSubmitted(submitted.ID, nil); !cmp.Equal(want, submitted) {
		t.Errorf("submit: %+v, want %+v", submitted, want)
	}
	var created task.Created
	parse(t, ann.cli(t, "volumes", "create", "data", "1Gi", "-s", "nobody-provides", "-o", "json").ok(t), &created)

	for _, tt := range []struct {
		args []string
		path string
	}{
		{[]string{"jobs", "status", submitted.ID}, "/tasks/" + submitted.ID},
		{[]string{"jobs", "list"}, "/tasks"},
		{[]string{"volumes", "status", created.ID}, "/volumes/" + created.ID},
		{[]string{"volumes", "list"}, "/volumes"},
	} {
		ann.awaitClaim(t, "data-"+created.ID)
		var said, answered any
		parse(t, ann.cli(t, append(tt.args, "-o", "json")...).ok(t), &said)
		parse(t, string(s.get(t, ann.name, tt.path).body), &answered)
		if diff := cmp.Diff(answered, said); diff != "" {
			t.Errorf("%v (-server +CLI):\n%s", tt.args, diff)
		}
		if got := ann.cli(t, append(tt.args, "-o", "yaml")...).ok(t); !strings.Contains(got, "username: ann-example.com\n") {
			t.Errorf("%v as yaml:\n%s", tt.args, got)
		}
	}
	var stopped task.StopResponse
	parse(t, ann.cli(t, "jobs", "stop", submitted.ID, "-o", "json").ok(t), &stopped)
	if stopped != task.NewStopResponse(submitted.ID) {
		t.Errorf("stop: %+v", stopped)
	}
	var deleted task.Deleted
	parse(t, ann.cli(t, "volumes", "delete", created.ID, "--force", "-o", "json").ok(t), &deleted)
	if deleted != task.NewDeleted(created.ID) {
		t.Errorf("delete: %+v", deleted)
	}
}

func parse(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

func TestErrorsOfTheCLI(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.as(t, "ann")
	testkit.Write(t, filepath.Join(ann.home, "broken.yaml"), "run: [\n")
	testkit.Write(t, filepath.Join(ann.home, "unknown.yaml"), "run: true\nrunn: x\n")
	testkit.Write(t, filepath.Join(ann.home, "many.yaml"), "run: true\nnum_nodes: 1000\n")
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"jobs status unknown0", 102, "Error: Task unknown0 not found\n"},
		{"jobs stop unknown0", 102, "Error: Task unknown0 not found\n"},
		{"jobs logs unknown0", 102, "Error: Task unknown0 not found\n"},
		{"volumes status unknown0", 102, "Error: Volume unknown0 not found\n"},
		{"volumes delete unknown0 --force", 102, "Error: Volume unknown0 not found\n"},
		{"volumes create Data 1Gi", 1, "Error: name: \"Data\""},
		{"volumes create data 10", 1, "Error: size: \"10\""},
		{"volumes create data 1Gi --access-modes Sometimes", 1, "Error: access_modes: \"Sometimes\""},
		{"jobs submit nowhere.yaml", 1, "nowhere.yaml"},
		{"jobs submit broken.yaml", 1, "broken.yaml"},
		{"jobs submit unknown.yaml", 1, "runn"},
		{"jobs submit many.yaml", 1, "Error: num_nodes: 1000"},
		{"jobs submit", 2, "usage"},
		{"jobs stop", 2, "Error: Either provide a task ID or use --all flag\n"},
		{"jobs stop --all-users", 2, "Error: --all-users requires --all flag\n"},
		{"jobs stop --all unknown0", 2, "Error: Cannot specify task ID with --all flag\n"},
		{"jobs list --status done", 2, "--status"},
		{"jobs list -o xml", 2, "xml"},
		{"jobs lst", 2, "lst"},
		{"volumes create data", 2, "usage"},
		{"jobs list --api-url http://127.0.0.1:1", 1, "Error: cannot reach the API server at http://127.0.0.1:1"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			got := ann.cli(t, strings.Fields(tt.args)...)
			if said := got.fails(t, tt.code); !strings.Contains(said, tt.says) || got.out != "" {
				t.Errorf("it printed %q and said %q, want %q", got.out, said, tt.says)
			}
		})
	}
	s.wantsEmptyLists(t)
}

// A log that is piped contains exactly the bytes that the task wrote.
func TestPipedLogsAreByteExact(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	id := ann.submit(t, yaml("run", `printf '\000\001\377\033[31mred\r\n\n'; head -c 100000 /dev/zero | tr '\000' x; echo; echo end`))
	want := "\x00\x01\xff\x1b[31mred\n\n" + strings.Repeat("x", 100000) + "\nend\n" // containerd drops a carriage return at the end of a line
	for _, args := range [][]string{{"jobs", "logs", id}, {"jobs", "logs", id, "--no-follow"}} {
		if got := ann.cli(t, args...).ok(t); got != want {
			t.Errorf("%v printed %d bytes, %.100q, want %d", args, len(got), got, len(want))
		}
	}
	if got := ann.cli(t, "jobs", "logs", id, "--tail", "1").ok(t); got != "end\n" {
		t.Errorf("with --tail 1: %q", got)
	}
}

// Overrides on the command line change the task.
func TestSubmitChangesTheFile(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	testkit.Write(t, filepath.Join(ann.home, "task.yaml"), "name: train\nenvs: {A: file, B: file}\nrun: echo $A $B $NUM_NODES\n")
	got := ann.cli(t, "jobs", "submit", "task.yaml", "--name", "other", "--num-nodes", "2", "--env", "A=changed $x")
	if out := got.ok(t); !strings.Contains(out, "node-0 | changed $x file 2\n") || !strings.Contains(out, "node-1 | changed $x file 2\n") {
		t.Errorf("the task says %q", out)
	}
	if s := ann.task(t, ann.tasks(t)[0]); s.Name != "other" || s.Metadata.NumNodes != 2 {
		t.Errorf("the task is %q with %d nodes", s.Name, s.Metadata.NumNodes)
	}
	piped := ann.prepare(t, "jobs", "submit", "-")
	piped.Stdin = strings.NewReader("run: echo from a pipe\n")
	piped.start(t)
	if out := piped.end(t).ok(t); !strings.HasSuffix(out, "\nfrom a pipe\n") {
		t.Errorf("a file from a pipe: %q", out)
	}
}
