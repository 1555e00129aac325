package main

import (
	"context"
	"errors"
	"io"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/complete"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

const execHelp = `Run a command in the container of a running task, and pass on its input, its
output and its exit code.

` + ref.ChangingHelp + `
The command begins after --, and runs without a shell. Its standard input is
the standard input of k8s-cli, also if that is a file or a pipe. In a loop of a
shell that reads its own input, pass --no-stdin.

The command starts where the scripts of the task run, with their variables.

Exit codes: those of the command; 127 if the image has no such command; 255 if
the session does not begin, or breaks off. After a break, the command may still
run in the task.
The server must allow sessions (--allow-exec).`

const shellHelp = `Open a shell in the container of a running task: bash, or sh if the image has
no bash. On a terminal, the shell uses the size and the type of the terminal,
and gets all keys, such as Ctrl-C. Otherwise, the shell reads its commands from
stdin.

` + ref.ChangingHelp + `
Exit codes: that of the shell; 255 if the session breaks off.
The server must allow sessions (--allow-exec).`

// startShell starts bash or sh. Its first argument is the type of the terminal.
const startShell = `[ -z "$1" ] || export TERM="$1"; if command -v bash >/dev/null 2>&1; then exec bash; fi; exec sh`

// An execution holds the flags of the commands exec and shell.
type execution struct {
	node    int
	tty     bool
	noStdin bool
}

func newExecCommand(e *env, s *server) *cobra.Command {
	var o execution
	cmd := &cobra.Command{
		Use:   "exec ID -- COMMAND...",
		Short: "Run a command in a running task",
		Long:  execHelp,
		Example: `  k8s-cli jobs exec mqp6bsu4 -- nvidia-smi
  k8s-cli jobs exec mqp6bsu4 --node 1 -- sh -c 'tail -n 5 /tmp/*.log'
  k8s-cli jobs exec mqp6bsu4 -t -- top
  echo '{"lr": 0.1}' | k8s-cli jobs exec train -- tee config.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 1 || len(args) < 2 {
				return errors.New("usage: k8s-cli jobs " + cmd.Use)
			}
			return nil
		},
		ValidArgsFunction: complete.Tasks(s.completion),
	}
	cmd.Flags().BoolVarP(&o.tty, "tty", "t", false, "give the command a terminal; stdin must be a terminal")
	cmd.Flags().BoolVar(&o.noStdin, "no-stdin", false, "give the command no input")
	o.define(cmd, s)
	cmd.RunE = s.remote(func(ctx context.Context, c *client.Client, args []string) error {
		if o.tty && e.terminal == nil {
			return exit.Usagef("--tty needs a terminal on stdin")
		}
		return o.run(ctx, e, c, args[0], args[1:])
	})
	return cmd
}

func newShellCommand(e *env, s *server) *cobra.Command {
	var o execution
	cmd := &cobra.Command{
		Use:               "shell ID",
		Aliases:           []string{"ssh"},
		Short:             "Open a shell in a running task",
		Long:              shellHelp,
		Example:           "  k8s-cli jobs shell mqp6bsu4\n  k8s-cli jobs shell train --node 1\n  k8s-cli jobs shell @last <commands.sh",
		Args:              takes(1, 1),
		ValidArgsFunction: complete.Tasks(s.completion),
	}
	o.define(cmd, s)
	cmd.RunE = s.remote(func(ctx context.Context, c *client.Client, args []string) error {
		o.tty = e.terminal != nil
		kind := ""
		if o.tty {
			kind = e.lookup.Get("TERM")
		}
		return o.run(ctx, e, c, args[0], []string{"/bin/sh", "-c", startShell, "sh", kind})
	})
	return cmd
}

func (o *execution) define(cmd *cobra.Command, s *server) {
	cmd.Flags().IntVar(&o.node, "node", 0, "rank of the node")
	s.shortFlag(cmd)
}

// remote returns the RunE function of a command whose errors have the exit code of ssh, because
// all other codes are those of the command in the task.
func (s *server) remote(do func(ctx context.Context, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	run := s.run(do)
	return func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if _, known := errors.AsType[*exit.Error](err); err == nil || known {
			return err
		}
		return &exit.Error{Code: exit.Unreached, Err: err}
	}
}

// run runs a command in the task that text means.
func (o *execution) run(ctx context.Context, e *env, c *client.Client, text string, command []string) error {
	found, err := ref.TaskToChange(ctx, c, text)
	if err != nil {
		return err
	}
	options := client.ExecOptions{Node: o.node, Command: command, TTY: o.tty, Stdout: e.Out, Stderr: e.ErrOut}
	if !o.noStdin {
		options.Stdin = e.In
	}
	if o.tty {
		return o.runOnTerminal(ctx, e, c, found, options)
	}
	code, err := c.Exec(ctx, found.ID, options)
	if err != nil {
		return err
	}
	return codeError(code)
}

// runOnTerminal runs a command that has the terminal of this process.
func (o *execution) runOnTerminal(ctx context.Context, e *env, c *client.Client, s task.Status, options client.ExecOptions) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP) // so that the terminal is restored
	defer stop()
	restore, err := e.terminal.Raw()
	if err != nil {
		return err
	}
	options.Sizes = e.terminal.Sizes(ctx)
	code, err := c.Exec(ctx, s.ID, options)
	restore()
	if err != nil {
		return err
	}
	return codeError(code)
}

// errOutput captures the error output of a command, up to a limit.
type errOutput struct{ text []byte }

const maxErrOutput = 4 << 10

func (o *errOutput) Write(p []byte) (int, error) {
	o.text = append(o.text, p[:min(len(p), maxErrOutput-len(o.text))]...)
	return len(p), nil
}

var _ io.Writer = (*errOutput)(nil)
