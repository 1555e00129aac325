package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// A hostile server gives any answer and counts the requests.
type hostile struct {
	*httptest.Server

	mu     sync.Mutex
	asked  int
	answer http.HandlerFunc
	enough chan struct{} // closed after so many requests that the CLI only repeats itself
}

const repeats = 5

func newHostile() *hostile {
	h := &hostile{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		answer := h.answer
		if h.asked++; h.asked == repeats {
			close(h.enough)
		}
		h.mu.Unlock()
		answer(w, r)
	}))
	return h
}

// turn sets another answer and forgets the requests.
func (h *hostile) turn(answer http.HandlerFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer, h.asked, h.enough = answer, 0, make(chan struct{})
}

const cliTimeout = time.Minute

// run runs the CLI with a home directory against the server and returns its whole output. A command
// that retries forever is killed. A command that sends no request is an error.
func (h *hostile) run(ctx context.Context, w *environment, home, stdin string, args ...string) (string, error) {
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
	cmd := exec.CommandContext(ctx, filepath.Join(w.options.programs, "k8s-cli"), append([]string{"--api-url", h.URL}, args...)...)
	cmd.Dir = home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GORACE=atexit_sleep_ms=0"}
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return out.String(), err
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return out.String(), fmt.Errorf("k8s-cli %q has not ended within %s", args, cliTimeout)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asked == 0 {
		return out.String(), fmt.Errorf("k8s-cli %q sent no request: %s", args, &out)
	}
	return out.String(), nil
}

// loggedIn returns the home directory of a user who has logged in with a token. The hostile server
// behaved correctly during the login.
func (h *hostile) loggedIn(ctx context.Context, w *environment) (home string, err error) {
	if home, err = w.home(); err != nil {
		return "", err
	}
	h.turn(says(`{"user":"ann","groups":[],"admin":false,"identified_by":"token","limits":{},"usage":{}}`))
	out, err := h.run(ctx, w, home, "token\n", "auth", "login", "--token-stdin")
	if err == nil && !strings.Contains(out, "Logged in as: ann") {
		err = fmt.Errorf("log in: %s", out)
	}
	return home, err
}
