package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/complete"
	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/logline"
	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/logpos"
	"k8s-cli/pkg/task/problem"
)

const logsHelp = `Print the logs of tasks, and follow them until the tasks end.

` + ref.Help + `
Without ID, the command prints the log of your newest task.

The log goes to stdout; messages go to stderr. Without --grep, --exclude and
--parallel, the bytes of the log are unchanged, except that a terminal shows the
node of each line in a colour, unless NO_COLOR is set. The command prints the
logs of several tasks one after the other, or at the same time with --parallel,
with the id of the task before each line, or its name if it is in a job group.
--group prints the logs of a job group at the same time.

--grep and --exclude take regular expressions in the syntax of Go (RE2), and
match each line without the prefix of its node. A line must match one of the
expressions of --grep, and none of --exclude.

--lines takes the numbers of lines of one node: 101-200, 101- for the lines from
101 on, or -100 for the last 100 lines. Lines count from 1.

--download writes the present log of each node to DIR/ID/node-RANK.log and
prints the names of the files.

Exit codes (with several tasks, the highest code):
  0 succeeded, 100 failed, 101 not finished, 102 not found, 103 stopped.`

// A logging holds the flags of the command logs.
type logging struct {
	client.LogOptions

	tail, node    int
	follow        bool
	names         []string
	grep, exclude []string
	parallel      bool
	group         string
	dir           string // --download
	numbers       string // --lines
	numbered      logpos.Range
	lines         logline.Options
}

func newLogsCommand(e *env, s *server) *cobra.Command {
	var o logging
	cmd := &cobra.Command{
		Use:   "logs [ID...]",
		Short: "Print the logs of tasks",
		Long:  logsHelp,
		Example: `  # Follow the log of a task
  k8s-cli jobs logs mqp6bsu4

  # Print the last 100 lines of node 1, and exit
  k8s-cli jobs logs mqp6bsu4 --node 1 --tail 100 --no-follow

  # Follow only the errors of two tasks at the same time
  k8s-cli jobs logs train eval --parallel --grep 'ERROR|Traceback'

  # Print the last lines of all tasks of a sweep
  k8s-cli jobs logs --group shards --parallel --tail 5 --no-follow

  # Save the log of each node of your newest task
  k8s-cli jobs logs @last --download logs`,
		Args:              takesOrGroup(0, anyNumber),
		ValidArgsFunction: complete.Tasks(s.completion),
		RunE: func(cmd *cobra.Command, ids []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			ids = append(ids, o.names...)
			c, err := s.client()
			if err != nil {
				return err
			}
			switch {
			case cmd.Flags().Changed("group"):
				if ids, err = o.ofGroup(cmd.Context(), c); err != nil {
					return err
				}
			case len(ids) == 0:
				ids = []string{ref.Last}
			}
			return o.print(cmd.Context(), e, c, ids)
		},
	}
	o.flags(cmd)
	groupFlag(cmd, s, &o.group, "print the logs of the tasks in the group of this `name`, oldest first")
	s.shortFlag(cmd)
	return cmd
}

// ofGroup returns the ids of the tasks of the group. The tasks of a job group run at the same time,
// so their logs are printed at the same time.
func (l *logging) ofGroup(ctx context.Context, c *client.Client) ([]string, error) {
	ids, err := tasksOfGroup(ctx, c, l.group)
	if err != nil || l.parallel || len(ids) == 0 {
		return ids, err
	}
	first, err := c.Task(ctx, ids[0])
	l.parallel = err == nil && first.Metadata.JobGroup != ""
	return ids, err
}

func (l *logging) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&l.NoFollow, "no-follow", false, "print the current log and exit")
	flags.BoolVarP(&l.follow, "follow", "f", true, "follow the log; --follow=false is --no-follow")
	flags.IntVar(&l.tail, "tail", 0, "print only the last `N` lines of each node, and new lines")
	flags.Var(sinceFlag{&l.Since}, "since", "print only lines written since an `age` such as 10m or 2d, or a time")
	flags.IntVar(&l.node, "node", 0, "print only the node with this `rank`; ranks start at 0")
	flags.IntVar(&l.Attempt, "attempt", 0, "print only the attempt with this `number`; attempts start at 1")
	flags.StringVar(&l.numbers, "lines", "", "print only the lines with these `numbers`, for example 101-200")
	flags.BoolVar(&l.Timestamps, "timestamps", false, "print a timestamp before each line")
	flags.StringArrayVarP(&l.names, "name", "n", nil, "print the log of the task with this `name`; repeatable")
	flags.StringArrayVar(&l.grep, "grep", nil, "print only lines that match this `regexp`; repeatable")
	flags.StringArrayVar(&l.exclude, "exclude", nil, "do not print lines that match this `regexp`; repeatable")
	flags.BoolVar(&l.parallel, "parallel", false, "print the logs of several tasks at the same time, with the id before each line")
	flags.StringVar(&l.dir, "download", "", "write the present logs to files in this `directory`, one for each node")
	_ = cmd.MarkFlagDirname("download")
}

// check checks the flags and completes the options.
func (l *logging) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("tail") {
		l.Tail = &l.tail
	}
	if cmd.Flags().Changed("node") {
		l.Node = &l.node
	}
	l.NoFollow = l.NoFollow || !l.follow
	for name, value := range map[string]int{"tail": l.tail, "node": l.node, "attempt": l.Attempt} {
		if value < 0 {
			return exit.Usagef("--%s must not be negative", name)
		}
	}
	if err := l.checkNumbers(cmd); err != nil {
		return err
	}
	var err error
	if l.lines.Grep, err = expressions("--grep", l.grep); err != nil {
		return err
	}
	l.lines.Exclude, err = expressions("--exclude", l.exclude)
	return err
}

func expressions(flag string, texts []string) (all []*regexp.Regexp, err error) {
	for _, text := range texts {
		e, err := regexp.Compile(text)
		if err != nil {
			return nil, exit.Usagef("%s: %v", flag, err)
		}
		all = append(all, e)
	}
	return all, nil
}

func (l logging) print(ctx context.Context, e *env, c *client.Client, ids []string) error {
	switch {
	case l.dir != "":
		return download(ctx, e, c, ids, l)
	case l.parallel && len(ids) > 1:
		return followTogether(ctx, e, c, ids, l)
	}
	return follow(ctx, e, c, ids, l)
}

// writer returns a writer to Out that selects and marks the lines. The lines of a task begin
// with prefix.
func (l logging) writer(screen *console.Console, out io.Writer, prefix string) *logline.Writer {
	lines := l.lines
	lines.Prefix = prefix
	if screen.Style.Color {
		lines.Paint = screen.Style.Rank
	}
	return logline.New(out, lines)
}

// follow prints the logs of tasks, one after the other. It returns an error with the
// highest of the tasks' exit codes.
func follow(ctx context.Context, e *env, c *client.Client, ids []string, o logging) error {
	ctx, stop := e.interrupts(ctx)
	defer stop()
	highest := 0
	for i, text := range ids {
		id, code, err := followOne(ctx, &e.Console, c, text, o, i == 0)
		switch {
		case ctx.Err() != nil:
			leave(ctx, &e.Console, c, id)
			return exit.Silent(max(highest, exit.TaskNotFinished))
		case errors.Is(err, problem.NotFound):
			printError(&e.Console, err)
			code = exit.NotFound
		case err != nil:
			return err
		}
		highest = max(highest, code)
	}
	return codeError(highest)
}

// codeError returns an error with an exit code, or nil for 0.
func codeError(code int) error {
	if code == 0 {
		return nil
	}
	return exit.Silent(code)
}

// followOne prints the log of the task that text means. It returns the id of the task and
// the exit code for its phase. The server ends the log when the task is over. first means that
// no other log was printed before.
func followOne(ctx context.Context, screen *console.Console, c *client.Client, text string, o logging, first bool) (id string, code int, err error) {
	s, err := ref.Task(ctx, c, text)
	if err != nil {
		return text, 0, err
	}
	if !o.NoFollow {
		screen.Say("Tailing logs for task %s...", s.ID)
	}
	if !o.NoFollow && first {
		screen.Say("Press Ctrl+C to stop tailing logs")
	}
	out := o.writer(screen, screen.Out, "")
	if o.numbers != "" {
		err = copyLines(ctx, c, s.ID, o, out)
	} else {
		err = copyLog(ctx, screen, c, s.ID, o.LogOptions, out)
	}
	code, err = logEnded(ctx, screen, c, s.ID, errors.Join(err, out.Close()))
	return s.ID, code, err
}

// logEnded prints how a task ended whose log ended with err. It returns the exit code.
func logEnded(ctx context.Context, screen *console.Console, c *client.Client, id string, err error) (code int, _ error) {
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case errors.Is(err, client.ErrBrokenLog):
		screen.Warn("Could not tail logs: %v", err)
	case err != nil:
		return 0, err
	}
	s, err := c.Task(ctx, id)
	if err != nil {
		return 0, err
	}
	screen.Say("%s", summary(s))
	return phaseCode(s.Phase), nil
}

// leaveLimit bounds the request for the status of a task after Ctrl-C.
const leaveLimit = 2 * time.Second

// leave prints the phase of a task, and how to follow its log again.
func leave(ctx context.Context, screen *console.Console, c *client.Client, id string) {
	fmt.Fprintln(screen.ErrOut, "\nStopped tailing logs")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	s, err := c.Task(ctx, id)
	state := "may still run"
	switch {
	case err == nil && s.Phase.Over():
		screen.Say("%s", summary(s))
		return
	case err == nil:
		state = "is still " + string(s.Phase)
	}
	screen.Say("Task %[1]s %[2]s: run 'k8s-cli jobs logs %[1]s' to follow it again, or 'k8s-cli jobs stop %[1]s' to stop it", id, state)
}

func phaseCode(p task.Phase) int {
	switch p {
	case task.Completed:
		return 0
	case task.Failed:
		return exit.TaskFailed
	case task.Stopped:
		return exit.TaskStopped
	}
	return exit.TaskNotFinished
}

// summary describes the phase of a task in one line.
func summary(s task.Status) string {
	text := fmt.Sprintf("Task %s %s", s.ID, s.Phase)
	switch {
	case s.Phase == task.Stopped:
		text = fmt.Sprintf("Task %s was stopped", s.ID)
	case !s.Phase.Over():
		text = fmt.Sprintf("Task %s is not finished, it is %s", s.ID, s.Phase)
	}
	if reason := show.ReasonNow(s.Metadata.Reason, s.Metadata.Message); reason != "" && s.Phase != task.Completed {
		text += ": " + reason
	}
	return text
}
