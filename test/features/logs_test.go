package features

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// sorted sorts the lines of a text.
func sorted(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
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
		{
			"lines around the size of a buffer", "for n in 16383 16384 16385 32768 65535 65536 65537; do head -c $n /dev/zero | tr '\\0' y; echo; done",
			func() (s string) {
				for _, n := range []int{16383, 16384, 16385, 32768, 65535, 65536, 65537} {
					s += strings.Repeat("y", n) + "\n"
				}
				return s
			}(),
		},
		{"carriage returns", `printf '10%%\r50%%\r100%%\n\rdone\n'`, "10%\r50%\r100%\n\rdone\n"}, // containerd drops a carriage return at the end of a line
		{"all bytes", "printf '" + octal + `\n'`, string(all) + "\n"},
		{"no end of the last line", "printf 'one\ntwo'", "one\ntwo\n"},
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
}

// The server forwards a line when the task writes it, not when a buffer is full.
func TestLogLinesAreStreamed(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	gate := newGate(t, ann.cluster)
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
	ann.wantPhase(t, id, task.Completed, "after the end of its log")
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

// A process that setup starts serves run, and processes that a script leaves behind do not keep the task
// running.
func TestProcessesThatScriptsLeaveBehind(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	ann.says(t, ann.submit(t, `
setup: |
  mkfifo /tmp/service
  while :; do echo served by setup >/tmp/service; done &
run: |
  read -r line </tmp/service; echo "$line"
  sleep 600 &
  (setsid sleep 600 >/dev/null 2>&1 &)
  echo over
`), "served by setup\nover\n")
}

// A reader of a long output that leaves early sees no message about the broken pipe.
func TestTheCLIIsQuietWhenItsReaderLeaves(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	id := ann.submit(t, "run: seq 1 50000\n")
	ann.await(t, id, task.Completed)
	for _, arguments := range [][]string{{"jobs", "logs", id}, {"jobs", "logs", id, "--no-follow"}, {"jobs", "list"}} {
		ann.login(t)
		c := ann.prepare(t, arguments...)
		c.Args = append([]string{"sh", "-c", `"$0" "$@" | head -n 1`, c.Path}, arguments...)
		c.Path = "/bin/sh"
		c.start(t)
		if r := c.end(t); strings.Count(r.out, "\n") != 1 || strings.Contains(r.errOut, "pipe") || strings.Contains(r.errOut, "rror") {
			t.Errorf("%q prints %q and %q", arguments, r.out, r.errOut)
		}
	}
}

// The log has what a script writes through a process substitution, although the script ends first, and a
// daemon that reads from a pipe does not hold up the end.
func TestOutputThroughPipesIsInTheLog(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	tee := ann.submit(t, "run: |\n  exec > >(tee -a /tmp/log) 2>&1\n  for i in $(seq 500); do echo row $i; done\n  echo last\n")
	slow := ann.submit(t, "resources: {cpus: 0.1}\nrun: |\n  exec > >(while IFS= read -r line; do echo \"$(date +%s) $line\"; done)\n  for i in $(seq 60); do echo row $i; done\n  echo last\n")
	daemon := ann.submit(t, "run: |\n  (sleep 600 | cat) &\n  echo last\n")
	for id, lines := range map[string]int{tee: 501, slow: 61, daemon: 1} {
		ann.await(t, id, task.Completed)
		text := string(ann.get(t, ann.name, "/tasks/"+id+"/logs").body)
		if got := strings.Count(text, "\n"); got != lines || !strings.HasSuffix(text, "last\n") {
			t.Errorf("task %s: %d lines, want %d; the log ends with %.40q", id, got, lines, text[max(len(text)-40, 0):])
		}
	}
}
