package features

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// serves is a task that answers HTTP on port 8899 until it is stopped.
const serves = "echo from the task >/tmp/page; cd /tmp; exec python3 -m http.server 8899"

// A user without a kubeconfig runs commands in a task, copies files and connects to ports, through
// a server that does not lead. Other users cannot. If the server dies, its sessions end with 255.
func TestSessionsInTasks(t *testing.T) {
	t.Parallel()
	leader := start(t, "--nats-url", external(t), "--allow-exec")
	s := leader.again(t)
	ann := s.as(t, "ann")
	id := ann.submit(t, "name: reached\nresources: {ports: [8899, 9000-9010]}\n"+yaml("run", serves))
	ann.await(t, id, task.Running)

	r := ann.cli(t, "jobs", "exec", "reached", "--no-stdin", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
	if r.fails(t, 7); r.out != "out\n" || r.errOut != "err\n" {
		t.Errorf("output %q, %q", r.out, r.errOut)
	}
	echo := ann.prepare(t, "jobs", "exec", id, "--", "cat") // ends with its input
	echo.Stdin = strings.NewReader("hi\n")
	echo.start(t)
	if got := echo.end(t).ok(t); got != "hi\n" {
		t.Errorf("cat printed %q", got)
	}
	ann.cli(t, "jobs", "exec", id, "--no-stdin", "--", "no-such-program").fails(t, 127)

	if got := ann.cli(t, "jobs", "exec", id, "--no-stdin", "--", "sh", "-c", `pwd; echo "$NODE_RANK ${SKYPILOT_NODE_IPS:+known}"`).ok(t); !strings.HasSuffix(got, "/sky_workdir\n0 known\n") {
		t.Errorf("a command has the directory and the variables %q", got)
	}
	copiesFiles(t, ann, id)
	forwardsPorts(t, ann, id)
	usesTerminal(t, ann, id)

	const upgrade = "this route needs a WebSocket; send GET with Upgrade: websocket and Sec-WebSocket-Version: 13"
	s.send(t, "GET", "ann", "/tasks/"+id+"/exec?command=id", nil).wants(t, 426, upgrade)
	s.send(t, "GET", "bob", "/tasks/"+id+"/exec?command=id", nil).wants(t, 404, "Task "+id+" not found")
	s.send(t, "GET", "bob", "/tasks/"+id+"/port-forward?port=8899", nil).wants(t, 404, "Task "+id+" not found")
	if said := s.as(t, "bob").cli(t, "jobs", "exec", id, "--no-stdin", "--", "id").fails(t, 255); !strings.Contains(said, "Task "+id+" not found") {
		t.Errorf("bob: %s", said)
	}

	open := ann.begin(t, "jobs", "exec", id, "--no-stdin", "--", "sh", "-c", "echo begun; sleep 1000")
	open.out.awaitText(t, "begun")
	s.process.Kill()
	if said := open.end(t).fails(t, 255); !strings.Contains(said, "the session broke off") {
		t.Errorf("after the death of the server: %s", said)
	}
	there := leader.as(t, "ann") // the other server still reaches the task, until its end
	open = there.begin(t, "jobs", "exec", id, "--no-stdin", "--", "sh", "-c", "echo begun; sleep 1000")
	open.out.awaitText(t, "begun")
	there.stop(t, id)
	if said := open.end(t).fails(t, 255); !strings.Contains(said, "the node of the task has ended") {
		t.Errorf("after the end of the task: %s", said)
	}
	if said := there.cli(t, "jobs", "exec", id, "--no-stdin", "--", "id").fails(t, 255); !strings.Contains(said, "is over") {
		t.Errorf("a session in a task that is over: %s", said)
	}
	hasLines(t, leader, `argv="[sh -c echo begun; sleep 1000]"`, "code=409")
	hasLines(t, s, `verdict="exit code 7"`, "bytes_in=3 bytes_out=3")
}

// hasLines checks that the audit log has exactly one line with each text.
func hasLines(t *testing.T, s *server, texts ...string) {
	t.Helper()
	for _, want := range texts {
		eventually(t, "a line of the audit log with "+want, func() (string, bool) {
			n := strings.Count(s.process.Said(), want)
			return fmt.Sprint(n, " lines"), n == 1
		})
	}
}

// copiesFiles checks that files arrive unchanged in both directions.
func copiesFiles(t *testing.T, u *user, id string) {
	t.Helper()
	sent := make([]byte, 20<<20)
	_, _ = rand.Read(sent)
	must.Write(t, filepath.Join(u.home, "sent"), string(sent))
	u.cli(t, "jobs", "cp", "sent", id+":there").ok(t) // where the scripts of the task run
	back := u.cli(t, "jobs", "cp", id+":~/sky_workdir/there", "back")
	back.ok(t)
	if !strings.Contains(back.errOut, "Copied ~/sky_workdir/there of node 0 of task "+id) {
		t.Errorf("a copy from the task: %s", back.errOut)
	}
	if got, err := os.ReadFile(filepath.Join(u.home, "back")); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d of %d bytes came back changed: %v", len(got), len(sent), err)
	}
	must.Succeed(t, os.MkdirAll(filepath.Join(u.home, "dir", "sub"), 0o755))
	must.Write(t, filepath.Join(u.home, "dir", "sub", "file"), "text")
	u.cli(t, "jobs", "cp", "dir", id+":/tmp").ok(t)
	u.cli(t, "jobs", "cp", id+":/tmp/dir", "copy").ok(t)
	if got, err := os.ReadFile(filepath.Join(u.home, "copy", "sub", "file")); err != nil || string(got) != "text" {
		t.Errorf("the directory: %q, %v", got, err)
	}
	if said := u.cli(t, "jobs", "cp", id+":/tmp/nothing", ".").fails(t, 1); !strings.Contains(said, "/tmp/nothing does not exist in node 0 of task "+id) {
		t.Errorf("a file that does not exist: %s", said)
	}
}

// forwardsPorts checks connections to a port, and the end at Ctrl-C.
func forwardsPorts(t *testing.T, u *user, id string) {
	t.Helper()
	c := u.begin(t, "jobs", "port-forward", id, ":8899", ":1")
	c.out.awaitText(t, "to port 1 ")
	text, _ := c.out.now()
	addresses := strings.Split(text, "\n")
	for range 3 { // the program may not listen yet
		eventually(t, "the page of the task", func() (string, bool) {
			response, err := http.Get("http://" + strings.Fields(addresses[0])[1] + "/page")
			if err != nil {
				return err.Error(), false
			}
			defer response.Body.Close()
			body, _ := io.ReadAll(response.Body)
			return string(body), string(body) == "from the task\n"
		})
	}
	if _, err := http.Get("http://" + strings.Fields(addresses[1])[1]); err == nil {
		t.Error("a port on which nothing listens answered")
	}
	must.Succeed(t, c.Process.Signal(os.Interrupt))
	r := c.end(t)
	r.ok(t)
	if want := "nothing listens on port 1 in node 0"; !strings.Contains(r.errOut, want) {
		t.Errorf("k8s-cli said %q, want %q", r.errOut, want)
	}
	if text := u.cli(t, "jobs", "status", id).ok(t); !strings.Contains(text, "ports: 8899, 9000-9010\n") {
		t.Errorf("jobs status does not show the ports of the task:\n%s", text)
	}
	declared := u.begin(t, "jobs", "port-forward", id)
	declared.out.awaitText(t, "Forwarding 127.0.0.1:8899 to port 8899 ")
	must.Succeed(t, declared.Process.Signal(os.Interrupt))
	declared.end(t).ok(t)
}

// usesTerminal checks the size of a terminal, Ctrl-C and the exit code of a shell.
func usesTerminal(t *testing.T, u *user, id string) {
	t.Helper()
	c := u.atTerminal(t, 101, "jobs", "shell", id)
	await := func(want string) { c.out.awaitText(t, want) }
	// The shell may start before it has the size.
	c.press(t, "until stty size | grep 101; do sleep 0.1; done; echo si''ze\r")
	await("25 101")
	await("size")
	must.Succeed(t, unix.IoctlSetWinsize(int(c.keyboard.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 33, Col: 77}))
	c.press(t, "until stty size | grep '33 77'; do sleep 0.1; done; echo chan''ged\r")
	await("changed")
	// The program itself says that it runs, so that it already is in the foreground of the terminal.
	c.press(t, "sh -c 'echo slee\"\"ps; exec sleep 1000'\r")
	await("sleeps")
	c.press(t, "\x03")
	c.press(t, "echo inter''rupted $?\r")
	await("interrupted 130")
	c.press(t, "exit 3\r")
	if r := c.end(t); r.code != 3 {
		t.Errorf("exit code %d of the shell, want 3\n%s", r.code, r.out)
	}
}
