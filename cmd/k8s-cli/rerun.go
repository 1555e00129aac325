package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/complete"
	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/taskfile"
)

const rerunHelp = `Submit tasks again with their original settings, and follow their logs.

` + ref.ChangingHelp + `

Each new task gets a new id, and belongs to the group of the original task.
--env sets a variable for the scripts; a variable that the original task used
in a path or a name keeps its original value there.
The server does not return the values of secrets: pass them with --secret. The
server keeps uploaded files for a while after a task ends; later, submit the
task again from the directory with its files.

The exit codes are those of submit.`

func newRerunCommand(e *env, s *server) *cobra.Command {
	var o submitOptions
	cmd := &cobra.Command{
		Use:   "rerun ID...",
		Short: "Submit tasks again, and follow their logs",
		Long:  rerunHelp,
		Example: `  # Submit a task again with another value of a variable
  k8s-cli jobs rerun mqp6bsu4 --env EPOCHS=5

  # Submit a task that ran out of memory again with more memory
  k8s-cli jobs rerun mqp6bsu4 --memory 32`,
		Args:              takes(1, anyNumber),
		ValidArgsFunction: complete.Tasks(s.completion),
	}
	p := newPrinter(&e.Console, cmd)
	p.quietFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		if err := o.check(nil, cmd.Flags()); err != nil {
			return err
		}
		for _, text := range o.warnings(cmd.Flags()) {
			p.Warn("%s", text)
		}
		c, err := s.client()
		if err != nil {
			return err
		}
		return newSubmitter(e, p, c, o).rerun(cmd.Context(), ids)
	}
	o.flags(cmd, "the original value")
	groupFlag(cmd, s, &o.group, "submit the tasks to the group of this `name`; overrides the original group")
	s.shortFlag(cmd)
	return cmd
}

// rerun submits tasks again. It submits nothing if one of the tasks cannot be submitted
// again.
func (s *submitter) rerun(ctx context.Context, ids []string) error {
	defer s.files.Close()
	overrides, err := s.options.overrides(s.env.lookup)
	if err != nil {
		return err
	}
	jobs, missing := each(ids, func(text string) (job, error) { return again(ctx, s.client, text, overrides) })
	if missing != nil {
		return missing
	}
	for i := range jobs {
		jobs[i].group.Group = cmp.Or(s.options.group, jobs[i].group.Group)
		if len(jobs) > 1 {
			jobs[i].about = ids[i] + ": "
		}
	}
	return s.submitJobs(ctx, jobs)
}

// again returns the original specification of the task that text means with the overrides applied,
// and the group of the task.
func again(ctx context.Context, c *client.Client, text string, o taskfile.Overrides) (job, error) {
	s, err := ref.TaskToChange(ctx, c, text)
	if err != nil {
		return job{}, err
	}
	id := s.ID
	t, err := c.Spec(ctx, id)
	if err != nil {
		return job{}, err
	}
	o.Override(&t)
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(t.Secrets)) {
		if t.Secrets[name] == task.Redacted {
			unknown = append(unknown, "--secret "+name)
		}
	}
	if len(unknown) > 0 {
		return job{}, fmt.Errorf("the server does not return the secrets of task %s; pass them with %s", id, strings.Join(unknown, " "))
	}
	for _, sum := range t.Sums() {
		has, err := c.HasUpload(ctx, sum)
		if err != nil {
			return job{}, err
		}
		if !has {
			return job{}, fmt.Errorf("the files of task %s have expired; submit the task again from the directory with its files", id)
		}
	}
	return job{task: t, original: fmt.Sprintf("%s (%s)", id, s.Name), group: group.Membership{Group: s.Metadata.Group}}, nil
}
