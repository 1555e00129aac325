// Command k8s-cli is the CLI. It submits tasks to the API server, watches the tasks and
// manages their volumes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/ref"
)

func main() {
	os.Exit(run(context.Background(), newEnv(os.Stdin, os.Stdout, os.Stderr), os.Args[1:]))
}

// run executes the command line in args and returns the exit code. Only run prints the
// error that ends a command.
func run(ctx context.Context, e *env, args []string) int {
	begun := false // an error before a command begins is a usage error
	root := newRootCommand(e)
	traced, wrong := openTrace(ctx, e)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		begun = true
		traced.begin(cmd)
		return wrong
	}
	root.SetArgs(args)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, args, err) })
	root.SetIn(e.In)
	root.SetOut(e.Out)
	root.SetErr(e.ErrOut)

	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = e.Out.Err()
	}
	printError(&e.Console, err)
	traced.end(err)
	code := exitCode(err, begun)
	if code == exit.Misuse {
		fmt.Fprintf(e.ErrOut, "Run '%s --help' for usage.\n", cmd.CommandPath())
	}
	return code
}

// isMissing reports whether a task or a volume that the user named does not exist.
func isMissing(err error) bool {
	_, missing := errors.AsType[*ref.MissingError](err)
	return missing
}

func exitCode(err error, begun bool) int {
	known, ok := errors.AsType[*exit.Error](err)
	switch {
	case err == nil:
		return 0
	case ok:
		return known.Code
	case !begun:
		return exit.Misuse
	case isMissing(err):
		return exit.NotFound
	}
	return exit.Failure
}
