// Command k8s-cli submits tasks to the API server, watches them and manages the
// volumes they use.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// The exit codes. Those from 100 say how a task ended; of several tasks, the
// highest counts.
const (
	exitError       = 1
	exitUsage       = 2
	exitFailed      = 100
	exitNotFinished = 101
	exitNotFound    = 102
	exitStopped     = 103
)

// An exit is an error that decides the exit code.
type exit struct {
	code int
	err  error // nil if everything has been said
}

func (e *exit) Error() string { return fmt.Sprint(e.err) }
func (e *exit) Unwrap() error { return e.err }

// usageError returns the error of a command line that makes no sense.
func usageError(format string, args ...any) error {
	return &exit{exitUsage, fmt.Errorf(format, args...)}
}

func main() {
	os.Exit(run(context.Background(), newEnv(os.Stdin, os.Stdout, os.Stderr), os.Args[1:]))
}

// run does what args say and returns the exit code. The error that ends a
// command is said here and nowhere else.
func run(ctx context.Context, e *env, args []string) int {
	begun := false // until a command begins, every error is one of usage
	root := newRootCommand(e)
	traced, wrong := e.traced(ctx)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		begun = true
		traced.begin(cmd)
		return wrong
	}
	root.SetArgs(args)
	root.SetIn(e.in)
	root.SetOut(e.out)
	root.SetErr(e.errOut)

	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = e.out.err
	}
	e.fail(err)
	traced.end(err)
	code := exitCode(err, begun)
	if code == exitUsage {
		fmt.Fprintf(e.errOut, "Run '%s --help' for usage.\n", cmd.CommandPath())
	}
	return code
}

func exitCode(err error, begun bool) int {
	known, ok := errors.AsType[*exit](err)
	switch {
	case err == nil:
		return 0
	case ok:
		return known.code
	case !begun:
		return exitUsage
	}
	return exitError
}
