package features

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
)

// TestListAmongManyTasks checks how many bytes the command jobs list transfers, and how much
// memory the command takes, when the user has 100,000 tasks. The test only logs durations. No
// other test runs at the same time: the submissions would starve it.
func TestListAmongManyTasks(t *testing.T) {
	const tasks, maxBytes, maxMemory = 100_000, 100_000, 30 << 20
	c, programs := join(t), plainPrograms(t)
	s := &server{cluster: c, flags: []string{"--nats-listen", "off", "--data-dir", t.TempDir()}}
	s.process = launch(t, testkit.Command{Program: filepath.Join(programs, "k8s-cli-server"), Args: s.arguments()})
	s.url = "http://" + s.process.address(t)
	ann := s.as(t, "ann@example.com")
	ann.login(t)
	began := time.Now()
	ann.submitMany(t, tasks)
	t.Logf("%d tasks were submitted in %s", tasks, time.Since(began).Round(time.Millisecond))

	link := countBytes(t, strings.TrimPrefix(s.url, "http://"))
	list := ann.prepare(t, "jobs", "list")
	list.Path = filepath.Join(programs, "k8s-cli")
	list.Env = append(list.Env, "K8S_CLI_API_URL=http://"+link.address)
	out, memory, took := runBlocked(t, list.Cmd)
	if rows := regexp.MustCompile(`(?m)^[a-z0-9]{8}  many +pending `).FindAllString(out, -1); len(rows) != 50 {
		t.Errorf("%d rows, want the newest 50:\n%.2000s", len(rows), out)
	}
	if transferred := link.bytes.Load(); transferred > maxBytes || memory > maxMemory {
		t.Errorf("jobs list transferred %d bytes and took %d bytes of memory, want at most %d and %d", transferred, memory, maxBytes, maxMemory)
	}
	t.Logf("jobs list took %s, transferred %d bytes and took %.1f MiB of memory", took.Round(time.Millisecond), link.bytes.Load(), float64(memory)/(1<<20))
}

// plainPrograms returns a directory with the programs, built without the race detector, which
// takes several times the memory.
func plainPrograms(t *testing.T) string {
	t.Helper()
	info, err := buildinfo.ReadFile(testkit.Program(t, "k8s-cli"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "-race" && s.Value == "true" }) {
		return os.Getenv(testkit.EnvPrograms)
	}
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags", "-s -w", "-o", dir+"/", "./cmd/...") // as make build
	build.Dir, build.Env = checkout, append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return dir
}

// submitMany submits tasks that get no Jobs.
func (u *user) submitMany(t *testing.T, n int) {
	t.Helper()
	waits := task.Spec{Name: "many", Run: "true", Volumes: map[string]string{"/data": "nowhere"}}
	results, err := u.SubmitAll(t.Context(), slices.Repeat([]task.Spec{waits}, n))
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.ID == "" {
			t.Fatalf("task %d: %+v", i, r)
		}
	}
}

// A byteCounter is a TCP proxy that counts the bytes of both directions.
type byteCounter struct {
	address string
	bytes   atomic.Int64
}

func countBytes(t *testing.T, target string) *byteCounter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	b := &byteCounter{address: l.Addr().String()}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				_ = near.Close()
				continue
			}
			go b.copy(far, near)
			go b.copy(near, far)
		}
	}()
	return b
}

func (b *byteCounter) copy(to, from net.Conn) {
	defer to.Close()
	_, _ = io.Copy(to, io.TeeReader(from, b))
}

func (b *byteCounter) Write(p []byte) (int, error) {
	b.bytes.Add(int64(len(p)))
	return len(p), nil
}

// runBlocked runs a command whose standard output accepts nothing at first. When the command
// has its output ready, runBlocked reads the peak of its memory, and then its output. The
// resource usage of an ended process is no substitute: it includes the memory of the process
// that started it.
func runBlocked(t *testing.T, c *exec.Cmd) (out string, memory int64, took time.Duration) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	size, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 4096)
	if err == nil {
		_, err = w.Write(make([]byte, size))
	}
	if err != nil {
		t.Fatal(err)
	}
	var errOut strings.Builder
	c.Stdout, c.Stderr = w, &errOut
	began := time.Now()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	eventually(t, "the command writes", func() (string, bool) { return "", writes(c.Process.Pid) })
	took, memory = time.Since(began), peakMemory(t, c.Process.Pid)
	text, err := io.ReadAll(r)
	if err := c.Wait(); err != nil {
		t.Fatalf("%v: %s", err, errOut.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text[size:]), memory, took
}

// writes reports whether a thread of a process waits in write(1, ...).
func writes(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	return slices.ContainsFunc(threads, func(path string) bool {
		text, _ := os.ReadFile(path)
		return strings.HasPrefix(string(text), fmt.Sprintf("%d 0x1 ", unix.SYS_WRITE))
	})
}

func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	m := regexp.MustCompile(`VmHWM:\s+([0-9]+) kB`).FindSubmatch(text)
	if err != nil || m == nil {
		t.Fatalf("no peak of memory: %v\n%s", err, text)
	}
	kilobytes, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}
