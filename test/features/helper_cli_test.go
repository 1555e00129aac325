package features

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// A result is the output and the exit code of a command of the CLI.
type result struct {
	out, errOut string
	code        int
}

// cli runs k8s-cli to its end.
func (u *user) cli(t *testing.T, arguments ...string) result {
	t.Helper()
	return u.begin(t, arguments...).end(t)
}

// A command is a running k8s-cli.
type command struct {
	*exec.Cmd
	out    *reader
	errOut bytes.Buffer
}

// begin starts k8s-cli.
func (u *user) begin(t *testing.T, arguments ...string) *command {
	t.Helper()
	u.login(t)
	c := u.prepare(t, arguments...)
	c.start(t)
	return c
}

// login logs the user in with k8s-cli.
func (u *user) login(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(u.home + "/.config"); err == nil || u.name == "" {
		return
	}
	c := u.prepare(t, "auth", "login", u.name)
	c.start(t)
	if r := c.end(t); r.code != 0 {
		t.Fatalf("log in as %s: %s", u.name, r.errOut)
	}
}

func (u *user) prepare(t *testing.T, arguments ...string) *command {
	t.Helper()
	c := &command{
		Cmd: exec.CommandContext(t.Context(), testkit.Program(t, "k8s-cli"), arguments...),
		out: &reader{ended: make(chan struct{})},
	}
	c.Env = append(testkit.Environment(u.home), "K8S_CLI_API_URL="+u.url, "K8S_CLI_INSECURE_HTTP=true")
	c.Dir = u.home
	c.Stdout, c.Stderr = c.out, &c.errOut
	return c
}

func (c *command) start(t *testing.T) {
	t.Helper()
	must.Succeed(t, c.Start())
	go func() {
		c.out.err = c.Wait()
		close(c.out.ended)
	}()
	t.Cleanup(func() { <-c.out.ended }) // the context has ended the process before
}

// end waits until the command ends.
func (c *command) end(t *testing.T) result {
	t.Helper()
	wait(t, c.out.ended, strings.Join(c.Args, " "))
	r := result{errOut: c.errOut.String()}
	r.out, _ = c.out.now()
	if failed, ok := errors.AsType[*exec.ExitError](c.out.err); ok {
		r.code = failed.ExitCode()
	} else if c.out.err != nil {
		t.Fatalf("%v: %v", c.Args, c.out.err)
	}
	if strings.Contains(r.errOut, "DATA RACE") || strings.Contains(r.errOut, "panic:") {
		t.Errorf("%v broke:\n%s", c.Args, r.errOut)
	}
	return r
}

// ok checks that the command succeeded, and returns its output.
func (r result) ok(t *testing.T) string {
	t.Helper()
	if r.code != 0 {
		t.Fatalf("exit code %d, want 0\n%s%s", r.code, r.out, r.errOut)
	}
	return r.out
}

// fails checks that the command failed with this exit code, and returns its error message.
func (r result) fails(t *testing.T, code int) string {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d\n%s%s", r.code, code, r.out, r.errOut)
	}
	return r.errOut
}
