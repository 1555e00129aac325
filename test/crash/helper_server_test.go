package crash

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"k8s-cli/test/testkit"
)

// A server is a k8s-cli-server that was built with crash points.
type server struct {
	*testkit.Process
	again          func() *server // starts the server once more
	ready, reached *testkit.Line  // the lines of a server that listens, and of a server that has reached its crash point
}

// launch starts a server. setting is the environment variable that names a crash point, or
// "".
func launch(t *testing.T, setting string, arguments ...string) *server {
	t.Helper()
	p := testkit.Command{Program: program(t), Args: arguments, Home: t.TempDir(), Env: []string{setting}}.Run(t)
	again := func() *server { t.Helper(); return launch(t, setting, arguments...) }
	return &server{Process: p, again: again, ready: p.Line(testkit.ReadyLine), reached: p.Line(reachedLine)}
}

// program returns the path of a server with crash points: the common program of all tests, if it was
// built with the tag crashpoints, or the one in the directory crashpoints.
func program(t *testing.T) string {
	t.Helper()
	common := testkit.Program(t, "k8s-cli-server")
	info, err := buildinfo.ReadFile(common)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(info.Settings, debug.BuildSetting{Key: "-tags", Value: "crashpoints"}) {
		return common
	}
	return testkit.Program(t, "crashpoints/k8s-cli-server")
}

var (
	reachedLine = regexp.MustCompile(`reached crash point .*`)
	leadingLine = regexp.MustCompile(`msg="leading: this pod runs the controller"`)
	stoppedLine = regexp.MustCompile(`msg="stopped leading"`)
)

func (s *server) isReached() bool { return testkit.Closed(s.reached.Found()) }

// endedAt checks that a server ended at its crash point, by the signal that it sends to
// itself there.
func (s *server) endedAt(t *testing.T) {
	t.Helper()
	testkit.Wait(t, patience, "the end of the server", s.Ended())
	if status, ok := s.State().Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL || !s.isReached() {
		t.Fatalf("the server ended, with %v, elsewhere than at its crash point", s.State())
	}
}

// isStopped reports whether SIGSTOP has stopped the process.
func (s *server) isStopped() (state string, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.PID()))
	_, state, _ = strings.Cut(string(stat), ") ")
	return state, err == nil && strings.HasPrefix(state, "T")
}

var errGone = errors.New("the server is gone")

// ask sends a request. The error is errGone if the server reached its crash point or ended
// before it answered. more are further headers, in pairs.
func (s *server) ask(ctx context.Context, method, path, key string, body any, more ...string) (testkit.Answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.reached.Found():
		case <-s.Ended():
		case <-ctx.Done():
		}
		cancel()
	}()
	raw, err := json.Marshal(body)
	if err != nil {
		return testkit.Answer{}, err
	}
	header := slices.Clone(more)
	if !slices.Contains(more, "Cookie") { // with both, the server would use the header
		header = append(header, "X-User", user)
	}
	if key != "" {
		header = append(header, "Idempotency-Key", key)
	}
	url := "http://" + s.ready.Match()[1] + path
	got, err := testkit.Send(ctx, http.DefaultClient, testkit.Request{Method: method, URL: url, Body: raw, Header: header})
	if err != nil {
		return got, fmt.Errorf("%w: %w", errGone, err)
	}
	return got, nil
}
