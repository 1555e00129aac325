package features

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// A terminal is a k8s-cli that runs on a pseudo-terminal. The test has the other end.
type terminal struct {
	*command
	keyboard *os.File
}

// atTerminal starts k8s-cli on a terminal with this many columns.
func (u *user) atTerminal(t *testing.T, columns uint16, arguments ...string) *terminal {
	t.Helper()
	u.login(t)
	ours, theirs := pseudoTerminal(t, columns)
	c := u.prepare(t, arguments...)
	screen := c.out
	c.Stdin, c.Stdout, c.Stderr = theirs, theirs, theirs
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must.Succeed(t, c.Start())
	_ = theirs.Close()
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := ours.Read(buffer)
			_, _ = screen.Write(buffer[:n])
			if err != nil { // no process has the other end open any more
				break
			}
		}
		screen.err = c.Wait()
		close(screen.ended)
	}()
	t.Cleanup(func() {
		<-screen.ended
		_ = ours.Close()
	})
	return &terminal{c, ours}
}

func pseudoTerminal(t *testing.T, columns uint16) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	must.Succeed(t, err)
	number, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	must.Succeed(t, err)
	must.Succeed(t, unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0))
	must.Succeed(t, unix.IoctlSetWinsize(int(ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 25, Col: columns}))
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	must.Succeed(t, err)
	return ours, theirs
}

// press sends the bytes of a key.
func (c *terminal) press(t *testing.T, key string) {
	t.Helper()
	if _, err := c.keyboard.WriteString(key); err != nil {
		t.Fatal(err)
	}
}

var colour = regexp.MustCompile(`\x1b\[\d+m`)

// screen returns what a screen shows in the end. Of the control sequences, the CLI uses
// colours, carriage return and the deletion of the rest of the line.
func screen(text string) string {
	var lines []string
	for line := range strings.SplitSeq(colour.ReplaceAllString(text, ""), "\n") {
		shown := []rune{}
		for part := range strings.SplitSeq(line, "\r") {
			rest, erases := strings.CutPrefix(part, "\x1b[K")
			over := []rune(rest)
			if !erases && len(over) < len(shown) {
				over = append(over, shown[len(over):]...)
			}
			shown = over
		}
		lines = append(lines, string(shown))
	}
	return strings.Join(lines, "\n")
}

// The reason why an attached task waits is one line, which disappears when the log begins.
func TestAttachedSubmitOnTerminal(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	must.Write(t, filepath.Join(ann.home, "task.yaml"), "volumes: {/data: later}\nsetup: echo begun\nrun: |\n  echo two lines\n  exit 3\n")
	const columns = 60
	attached := ann.atTerminal(t, columns, "jobs", "submit", "task.yaml")
	attached.out.awaitText(t, "\r\x1b[K\x1b[90mpending: VolumeNotFound: waiting for volume later: you hav…")
	id := ann.tasks(t)[0]
	ann.create(t, task.Volume{Name: "later", Size: "1Gi"})
	got := attached.end(t)
	got.fails(t, 100)
	want := fmt.Sprintf(`✓ Task submitted successfully
  Task ID: %[1]s
  Status: submitted
Tailing logs for task %[1]s...
Press Ctrl+C to stop tailing logs
begun
two lines
Task %[1]s failed: Error: exit code 3
`, id)
	if shown := screen(got.out); shown != want {
		t.Errorf("on the screen stands\n%s\nwant\n%s", shown, want)
	}
	for line := range strings.SplitSeq(got.out, "\r\x1b[K") {
		progress, _, _ := strings.Cut(colour.ReplaceAllString(line, ""), "\r")
		if strings.HasPrefix(progress, "pending") && len([]rune(progress)) >= columns {
			t.Errorf("a line of progress fills the screen: %q", progress)
		}
	}

	// Without a terminal there is no such line.
	piped := ann.begin(t, "jobs", "submit", "task.yaml").end(t)
	piped.fails(t, 100)
	id = ann.tasks(t)[0]
	if want := fmt.Sprintf("✓ Task submitted successfully\n  Task ID: %s\n  Status: submitted\nbegun\ntwo lines\n", id); piped.out != want {
		t.Errorf("piped, the CLI prints %q, want %q", piped.out, want)
	}
	if want := fmt.Sprintf("Tailing logs for task %[1]s...\nPress Ctrl+C to stop tailing logs\nTask %[1]s failed: Error: exit code 3\n", id); piped.errOut != want {
		t.Errorf("piped, the CLI says %q, want %q", piped.errOut, want)
	}
}

// Ctrl-C does not change the task, and the CLI says how to attach again.
func TestInterruptOnTerminal(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	must.Write(t, filepath.Join(ann.home, "endless.yaml"), yaml("run", endless))
	attached := ann.atTerminal(t, 80, "jobs", "submit", "endless.yaml")
	attached.out.awaitText(t, "begun\r\n")
	attached.press(t, "\x03")
	got := attached.end(t)
	got.fails(t, 101)
	id := ann.tasks(t)[0]
	again := "k8s-cli jobs logs " + id
	if want := "Stopped tailing logs\nTask " + id + " is still running: run '" + again + "' to follow it again, or 'k8s-cli jobs stop " + id + "' to stop it\n"; !strings.HasSuffix(screen(got.out), want) {
		t.Errorf("on the screen stands\n%s\nwant an end of\n%s", screen(got.out), want)
	}
	ann.wantPhase(t, id, task.Running, "after the interrupt")
	back := ann.atTerminal(t, 80, strings.Fields(again)[1:]...)
	back.out.awaitText(t, "begun\r\n")
	ann.stop(t, id)
	if got = back.end(t); !strings.HasSuffix(screen(got.out), "\nbegun\nTask "+id+" was stopped\n") {
		t.Errorf("on the screen stands\n%s", screen(got.out))
	}
	got.fails(t, 103)
}

// awaitMatch waits until the text matches want.
func (r *reader) awaitMatch(t *testing.T, want *regexp.Regexp) {
	t.Helper()
	r.awaitWhere(t, want.String(), want.MatchString)
}
