package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s-cli/test/testkit"
)

// A hostile server gives any answer and records the requests.
type hostile struct {
	*httptest.Server

	mu     sync.Mutex
	seen   []string
	answer http.HandlerFunc
	enough chan struct{} // closed after so many requests that the CLI only repeats itself
}

const repeats = 5

func newHostile(answer http.HandlerFunc) *hostile {
	h := &hostile{answer: answer, enough: make(chan struct{})}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		h.mu.Lock()
		h.seen = append(h.seen, fmt.Sprintf("%s %s Authorization:%q X-User:%q %s", r.Method, r.URL, r.Header.Get("Authorization"), r.Header.Get("X-User"), body))
		answer := h.answer
		if len(h.seen) == repeats {
			close(h.enough)
		}
		h.mu.Unlock()
		answer(w, r)
	}))
	return h
}

// told returns the recorded requests.
func (h *hostile) told() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.seen, "\n")
}

// turn sets another answer and forgets the recorded requests.
func (h *hostile) turn(answer http.HandlerFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer, h.seen, h.enough = answer, nil, make(chan struct{})
}

// says answers with JSON.
func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

// A cliUser uses the CLI with a home directory of its own.
type cliUser struct {
	world *environment
	home  string
	env   []string
}

func (w *environment) cliUser(env ...string) (*cliUser, error) {
	home, err := w.home()
	return &cliUser{w, home, env}, err
}

func (u *cliUser) config(name string) string {
	return filepath.Join(u.home, ".config", "k8s-cli", name)
}

func (u *cliUser) write(name, text string) error {
	path := filepath.Join(u.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

const cliTimeout = time.Minute

// run runs the CLI against a server and returns its whole output. A command that retries
// forever is killed.
func (u *cliUser) run(ctx context.Context, h *hostile, stdin string, args ...string) (string, error) {
	return u.runAt(ctx, h.URL, h, stdin, args...)
}

// runAt is run with another URL that leads to the server.
func (u *cliUser) runAt(ctx context.Context, url string, h *hostile, stdin string, args ...string) (string, error) {
	ctx, cancel := testkit.WithPatience(ctx, cliTimeout)
	defer cancel()
	h.mu.Lock()
	enough := h.enough
	h.mu.Unlock()
	go func() {
		select {
		case <-enough:
			cancel()
		case <-ctx.Done():
		}
	}()
	// The umask 0 gives new files exactly the permissions that the CLI requests.
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", `umask 0; exec "$0" "$@"`, filepath.Join(u.world.options.programs, "k8s-cli"), "--api-url", url}, args...)...)
	cmd.Dir = u.home
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + u.home, "GORACE=atexit_sleep_ms=0"}, u.env...)
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	failed, exited := errors.AsType[*exec.ExitError](err)
	if err != nil && (!exited || failed.ExitCode() > 125) { // the exit code of the shell: the program does not exist
		return out.String(), err
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return out.String(), fmt.Errorf("k8s-cli %q has not ended within %s", args, cliTimeout)
	}
	return out.String(), nil
}

// loggedIn returns a user who has logged in with a token or a name. The hostile server
// behaved correctly during the login.
func (w *environment) loggedIn(ctx context.Context, h *hostile, byToken bool) (*cliUser, error) {
	u, err := w.cliUser()
	if err != nil {
		return nil, err
	}
	if err := u.write("task.yaml", "run: echo hush\nsecrets: {PW: hush}\n"); err != nil {
		return nil, err
	}
	if !byToken {
		_, err := u.run(ctx, h, "", "auth", "login", "ann")
		return u, err
	}
	h.turn(says(`{"user":"ann","groups":[],"admin":false,"identified_by":"token","limits":{},"usage":{}}`))
	out, err := u.run(ctx, h, secretToken+"\n", "auth", "login", "--token-stdin")
	if err == nil && !strings.Contains(h.told(), secretToken) {
		err = fmt.Errorf("log in: %s", out)
	}
	return u, err
}

// secretToken is a token that no other server may see.
const secretToken = "token-for-one-server-alone"
