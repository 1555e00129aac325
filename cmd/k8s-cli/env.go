package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
)

const (
	defaultURL      = "http://localhost:8000"
	insecureHTTPEnv = "K8S_CLI_INSECURE_HTTP"
)

// An env is all that a command touches of the world: results go to out, talk
// goes to errOut.
type env struct {
	in       io.Reader
	out      *output
	errOut   io.Writer
	style    show.Style                       // of out
	errStyle show.Style                       // of errOut
	lookup   func(name string) (string, bool) // in the environment
	config   string                           // directory of the user's settings; empty if there is no home
	connect  func(url, user string) *client.Client
	browse   func(address string) error // opens a page where the user sees it; nil if there is no browser
	// interrupts returns a context that the first Ctrl-C ends. Everywhere else
	// Ctrl-C ends the process, as it does by itself.
	interrupts func(context.Context) (context.Context, context.CancelFunc)

	interactive bool // a person reads errOut and answers by in

	apiURL       string      // --api-url
	insecureHTTP bool        // --insecure-http
	format       show.Format // --output
}

// newEnv returns the env of a process with these files.
func newEnv(in, out, errOut *os.File) *env {
	return &env{
		in:         in,
		out:        &output{w: out},
		errOut:     errOut,
		style:      styleOf(out, os.Getenv),
		errStyle:   styleOf(errOut, os.Getenv),
		lookup:     os.LookupEnv,
		config:     configDir(os.Getenv),
		connect:    client.New,
		browse:     browser(os.LookupEnv),
		interrupts: interrupts,

		interactive: term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(errOut.Fd())),
	}
}

func styleOf(f *os.File, getenv func(string) string) show.Style {
	screen := int(f.Fd())
	if !term.IsTerminal(screen) {
		return show.Style{}
	}
	width, _, _ := term.GetSize(screen) // 0, any width, if the terminal does not say
	clever := getenv("TERM") != "dumb"
	return show.Style{Color: getenv("NO_COLOR") == "" && clever, Width: width, Live: clever}
}

func configDir(getenv func(string) string) string {
	base := getenv("XDG_CONFIG_HOME")
	if home, err := os.UserHomeDir(); err == nil && !filepath.IsAbs(base) {
		base = filepath.Join(home, ".config")
	}
	if !filepath.IsAbs(base) {
		return ""
	}
	return filepath.Join(base, "k8s-cli")
}

func interrupts(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process
	return ctx, stop
}

// client returns a client that asks in the name of who is logged in.
func (e *env) client() (*client.Client, error) {
	c, err := e.credential()
	if err != nil {
		return nil, err
	}
	if c != nil {
		if err := e.checkConfidential(); err != nil {
			return nil, err
		}
		return e.dial(c.User).WithToken(e.tokens(*c)), nil
	}
	user, err := e.user()
	if err != nil {
		return nil, err
	}
	return e.dial(user), nil
}

// dial returns a client of the server that asks in the name of user.
func (e *env) dial(user string) *client.Client {
	c := e.connect(e.url(), user)
	if e.allowsPlainHTTP() {
		c.AllowPlainHTTP()
	}
	return c
}

// allowsPlainHTTP reports whether the user accepts that others on the network see
// tokens. What is not readable as yes is no.
func (e *env) allowsPlainHTTP() bool {
	value, _ := e.lookup(insecureHTTPEnv)
	yes, _ := strconv.ParseBool(value)
	return yes || e.insecureHTTP
}

// url returns where the server is.
func (e *env) url() string {
	url, _ := e.lookup("K8S_CLI_API_URL")
	return cmp.Or(e.apiURL, url, defaultURL)
}

// fail says err on errOut: each of several errors on its own line, one that has
// been said already not at all.
func (e *env) fail(err error) {
	if known, ok := errors.AsType[*exit.Error](err); ok {
		err = known.Err
	}
	several, ok := errors.AsType[problems](err)
	if !ok && err != nil {
		several = problems{err}
	}
	for _, err := range several {
		fmt.Fprintln(e.errOut, e.errStyle.Error("Error: "+err.Error()+hint(err)))
	}
}

// hint returns what helps after err beyond its own sentence.
func hint(err error) string {
	known, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok:
		return ""
	case known.RetryAfter > 0:
		return fmt.Sprintf(" (try again in %s)", known.RetryAfter.Round(time.Second))
	case known.Code >= 500 && known.RequestID != "":
		return " (request " + known.RequestID + ")"
	}
	return ""
}

// say writes a line to errOut, on which a terminal obeys nothing.
func (e *env) say(format string, args ...any) {
	fmt.Fprintln(e.errOut, show.Plain(fmt.Sprintf(format, args...)))
}

func (e *env) warn(format string, args ...any) {
	fmt.Fprintln(e.errOut, e.errStyle.Warning("Warning: "+fmt.Sprintf(format, args...)))
}

// confirm asks a question and reports whether the answer is yes. No answer is an
// error, which names the flag that does without the question.
func (e *env) confirm(question, unasked string) (bool, error) {
	fmt.Fprintf(e.errOut, "%s [y/N]: ", show.Plain(question))
	line, err := bufio.NewReader(e.in).ReadString('\n')
	if err != nil && err != io.EOF {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	if err == io.EOF {
		fmt.Fprintln(e.errOut)
		if answer == "" {
			return false, fmt.Errorf("no answer on stdin; pass %s to skip the prompt", unasked)
		}
	}
	return answer == "y" || answer == "yes", nil
}

// problems are the errors of several questions, asked one after the other.
type problems []error

func (p problems) Error() string   { return errors.Join(p...).Error() }
func (p problems) Unwrap() []error { return p }

// An output remembers the first write that failed, so that a result that was
// lost is no success.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if o.err == nil && err != nil {
		o.err = err
	}
	return n, err
}
