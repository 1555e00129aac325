package features

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// sorted sorts the lines of a text.
func sorted(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func TestLogLinesHaveNodePrefixes(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	got := ann.run(t, "num_nodes: 3\nsetup: echo setup\nrun: |\n  echo\n  echo rank $NODE_RANK\n")
	var want string
	for rank := range 3 {
		prefix := fmt.Sprintf("node-%d | ", rank)
		want += prefix + "setup\n" + prefix + "\n" + prefix + fmt.Sprintf("rank %d\n", rank)
	}
	if sorted(got) != sorted(want) {
		t.Errorf("log\n%s\nwant, in any order of nodes,\n%s", got, want)
	}
	for rank := range 3 { // the lines of one node keep their order
		var own string
		for line := range strings.Lines(got) {
			if after, ok := strings.CutPrefix(line, fmt.Sprintf("node-%d | ", rank)); ok {
				own += after
			}
		}
		if want := fmt.Sprintf("setup\n\nrank %d\n", rank); own != want {
			t.Errorf("node %d says %q, want %q", rank, own, want)
		}
	}
}

// The log of a task is the same while the task runs and afterwards.
func TestLogOfAFinishedTaskIsWhole(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	id := ann.submit(t, "run: |\n  for i in $(seq 1 2000); do echo line $i; done\n")
	followed := ann.log(t, id, client.LogOptions{})
	var want strings.Builder
	for i := 1; i <= 2000; i++ {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	if followed != want.String() {
		t.Errorf("followed, the log has %d bytes, want %d", len(followed), want.Len())
	}
	ann.await(t, id, task.Completed)
	for name, o := range map[string]client.LogOptions{"again": {}, "without following": {NoFollow: true}} {
		if got := ann.log(t, id, o); got != want.String() {
			t.Errorf("%s, the log has %d bytes, want %d", name, len(got), want.Len())
		}
	}
}

// Lines are forwarded byte for byte, whatever their content and length. Only a last line
// without a newline gets a newline.
func TestLogLinesAreByteExact(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	var all []byte
	for b := range 256 {
		if b != '\n' {
			all = append(all, byte(b))
		}
	}
	octal := ""
	for _, b := range all {
		octal += fmt.Sprintf(`\%03o`, b)
	}
	for _, tt := range []struct{ name, script, want string }{
		{"a line of 300,000 characters", "echo begin; head -c 300000 /dev/zero | tr '\\0' x; echo; echo end", "begin\n" + strings.Repeat("x", 300000) + "\nend\n"},
		{
			"lines around the size of a buffer", "for n in 16383 16384 16385 32768 65535 65536 65537; do head -c $n /dev/zero | tr '\\0' y; echo; done",
			func() (s string) {
				for _, n := range []int{16383, 16384, 16385, 32768, 65535, 65536, 65537} {
					s += strings.Repeat("y", n) + "\n"
				}
				return s
			}(),
		},
		{"blank lines", "echo; echo; echo x; echo", "\n\nx\n\n"},
		{"carriage returns", `printf '10%%\r50%%\r100%%\n\rdone\n'`, "10%\r50%\r100%\n\rdone\n"}, // containerd drops a carriage return at the end of a line
		{"all bytes", "printf '" + octal + `\n'`, string(all) + "\n"},
		{"blanks at both ends", "echo '  x  '", "  x  \n"},
		{"no end of the last line", "printf 'one\ntwo'", "one\ntwo\n"},
		{"no line at all", "true", ""},
		{"what looks like a prefix", "echo 'node-0 | x'; echo '2026-01-01T00:00:00Z x'", "node-0 | x\n2026-01-01T00:00:00Z x\n"},
		{"both streams", "echo out; echo err >&2", "err\nout\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ann.run(t, yaml("run", tt.script))
			if tt.name == "both streams" {
				got = sorted(got)
			}
			if got != tt.want {
				t.Errorf("log of %d bytes %.300q, want %d bytes %.300q", len(got), got, len(tt.want), tt.want)
			}
		})
	}
}

func TestLogOptions(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	two := ann.submit(t, "num_nodes: 2\nrun: |\n  for i in 1 2 3; do echo $NODE_RANK-$i; done\n")
	ann.await(t, two, task.Completed)
	one := ann.submit(t, "run: |\n  for i in 1 2 3; do echo $i; done\n")
	ann.await(t, one, task.Completed)
	for _, tt := range []struct{ name, id, query, want string }{
		{"the last two lines", one, "tail=2", "2\n3\n"},
		{"more lines than there are", one, "tail=10", "1\n2\n3\n"},
		{"no lines", one, "tail=0", ""},
		{"the last line of each node", two, "tail=1", "node-0 | 0-3\nnode-1 | 1-3\n"},
		{"one node", two, "node=1", "node-1 | 1-1\nnode-1 | 1-2\nnode-1 | 1-3\n"},
		{"the last line of one node", two, "node=0&tail=1&follow=false", "node-0 | 0-3\n"},
		{"lines of the last hour", one, "since=1h", "1\n2\n3\n"},
		{"lines of the last hour, in seconds", one, "since=3600", "1\n2\n3\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ann.get(t, ann.name, "/tasks/"+tt.id+"/logs?"+tt.query)
			if kind := got.header.Get("Content-Type"); got.code != http.StatusOK || kind != "text/plain; charset=utf-8" {
				t.Errorf("%d %s", got.code, kind)
			}
			if text := sorted(string(got.body)); text != tt.want {
				t.Errorf("log %q, want %q", text, tt.want)
			}
		})
	}
	stamped := string(ann.get(t, ann.name, "/tasks/"+two+"/logs?timestamps=true").body)
	if want := regexp.MustCompile(`^(node-[01] \| 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z [01]-[123]\n){6}$`); !want.MatchString(stamped) {
		t.Errorf("with timestamps\n%s", stamped)
	}
	for _, query := range []string{"tail=-1", "tail=x", "node=-1", "node=x", "since=-1s", "since=x", "follow=maybe", "timestamps=2"} {
		name, _, _ := strings.Cut(query, "=")
		got := ann.get(t, ann.name, "/tasks/"+one+"/logs?"+query)
		if sentence := got.detail(t); got.code != 422 || !strings.Contains(sentence, name) {
			t.Errorf("%s: %d %q, want 422 and %s in the sentence", query, got.code, sentence, name)
		}
	}
}

// A task with two nodes has no log of node 7.
func TestLogOfUnknownNode(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	id := ann.submit(t, "num_nodes: 2\n"+idle)
	got := ann.get(t, ann.name, "/tasks/"+id+"/logs?follow=false&node=7")
	if sentence := got.detail(t); got.code < 400 || got.code > 499 || !strings.Contains(sentence, "7") {
		t.Errorf("got %d %q, want an error that names the node", got.code, sentence)
	}
}

func TestLogSince(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	ann, gate := ann, newGate(t, ann.cluster)
	id := ann.submit(t, "envs: {GATE: "+gate.url+"}\n"+yaml("run", "echo old; sleep 12; echo new; wget -qO- $GATE"))
	gate.await(t, "/", 1)
	if got := ann.log(t, id, client.LogOptions{NoFollow: true, Since: 6 * time.Second}); got != "new\n" {
		t.Errorf("lines of the last 6 s: %q, want new alone", got)
	}
	follows := ann.follow(t, id, client.LogOptions{Tail: new(1)})
	follows.awaitText(t, "new\n")
	gate.opens()
	if got := follows.rest(t); got != "new\n" {
		t.Errorf("the last line and what follows: %q", got)
	}
}

// The server forwards a line when the task writes it, not when a buffer is full.
func TestLogLinesAreStreamed(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	ann, gate := ann, newGate(t, ann.cluster)
	id := ann.submit(t, "num_nodes: 2\nenvs: {GATE: "+gate.url+"}\n"+yaml("run", "echo first; wget -qO- $GATE; echo second"))
	follows := ann.follow(t, id, client.LogOptions{}) // the pod does not exist yet
	follows.awaitText(t, "node-0 | first\n")
	follows.awaitText(t, "node-1 | first\n")
	if got := ann.log(t, id, client.LogOptions{NoFollow: true}); sorted(got) != "node-0 | first\nnode-1 | first\n" {
		t.Errorf("without following: %q", got)
	}
	gate.opens()
	if got, want := follows.rest(t), "node-0 | first\nnode-0 | second\nnode-1 | first\nnode-1 | second\n"; sorted(got) != want {
		t.Errorf("log %q, want %q", got, want)
	}
	if s := ann.task(t, id); s.Phase != task.Completed {
		t.Errorf("the log has ended and the task is %s", sketch(s))
	}
}

func TestLogEndsWhenTheTaskIsStopped(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	waits := ann.submit(t, idle)
	runs := ann.submit(t, yaml("run", endless))
	before, during := ann.follow(t, waits, client.LogOptions{}), ann.follow(t, runs, client.LogOptions{})
	during.awaitText(t, "begun\n")
	ann.stop(t, waits)
	ann.stop(t, runs)
	if got := before.rest(t); got != "" {
		t.Errorf("log of a task that never ran: %q", got)
	}
	if got := during.rest(t); got != "begun\n" {
		t.Errorf("log of a task that was stopped: %q", got)
	}
}

func TestLogOfUnknownTask(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	for _, query := range []string{"", "?follow=false", "?tail=1"} {
		ann.get(t, ann.name, "/tasks/unknown0/logs"+query).wants(t, 404, "Task unknown0 not found")
	}
}

// The followers of a pod share a stream from the API server, as the audit log shows. When
// the last follower leaves, the server closes the stream although the task still runs.
func TestLogFollowersShareAStream(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	id := ann.submit(t, yaml("run", endless))
	var leavers []*reader
	for range 5 {
		leavers = append(leavers, ann.follow(t, id, client.LogOptions{}))
	}
	for _, l := range leavers {
		l.awaitText(t, "begun\n")
	}
	leavers[0].leave()
	pod := ann.pods(t, id)[0].Name
	eventually(t, "1 stream is open", func() (string, bool) { n := ann.openLogs(t, pod); return fmt.Sprint(n), n == 1 })
	for _, l := range leavers[1:] {
		l.leave()
	}
	eventually(t, "no stream is open", func() (string, bool) { n := ann.openLogs(t, pod); return fmt.Sprint(n), n == 0 })
	if s := ann.task(t, id); s.Phase != task.Running {
		t.Errorf("by now the task is %s", sketch(s))
	}
}

// openLogs returns how many logs of a pod the API server is currently sending to the
// servers. An empty pod counts all pods.
func (c *cluster) openLogs(t *testing.T, pod string) (n int) {
	t.Helper()
	for _, e := range c.audited(t, 0) {
		if e.Object.Subresource != "log" || pod != "" && e.Object.Name != pod {
			continue
		}
		switch e.Stage {
		case "ResponseStarted":
			n++
		case "ResponseComplete":
			n--
		}
	}
	return n
}
