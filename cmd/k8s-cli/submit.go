package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/taskfile"
)

const submitHelp = `Submit tasks, and follow their logs until the tasks end.

FILE is a SkyPilot task file, or - for stdin. The command reads all files before
it submits the first task, and submits several tasks in one request. It reports
each task that the server rejects.

The command uploads a workdir that is a local directory or a git repository, and
file_mounts, unless the server already has the files. Paths are relative to the
current directory.

The log goes to stdout unchanged, after the lines that show the id of the task;
messages go to stderr. The command prints the logs of several tasks one after
the other.

Exit codes, of several tasks the highest:
  0 succeeded, 100 failed, 101 not finished, 102 not found, 103 stopped.
With --detach, or with -o json or yaml, which imply it, 0 means submitted.

With --dry-run, the command prints its findings on the fields of each file to
stderr, as validate does, and the Kubernetes objects as YAML to stdout. It packs
files but does not upload them. 0 means that the files are valid.`

func newSubmitCommand(e *env) *cobra.Command {
	var s submission
	cmd := &cobra.Command{
		Use:   "submit FILE...",
		Short: "Submit tasks and follow their logs",
		Long:  submitHelp,
		Example: `  # Submit a task, and follow its log
  k8s-cli jobs submit train.yaml --env EPOCHS=3

  # Submit a task from stdin, and print its id as JSON
  k8s-cli jobs submit - -o json < train.yaml

  # Submit one task for each combination of values
  k8s-cli jobs submit -d train.yaml --grid LR=0.1,0.01 --grid EPOCHS=3,10

  # Show the Kubernetes objects; submit nothing
  k8s-cli jobs submit --dry-run train.yaml`,
		Args: takes(1, anyNumber),
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := s.check(files, cmd.Flags().Changed("num-nodes")); err != nil {
				return err
			}
			return e.submit(cmd.Context(), files, s)
		},
	}
	s.flags(cmd, "the value in the file")
	cmd.Flags().BoolVar(&s.dryRun, "dry-run", false, "submit nothing; print how the server treats each field, and the Kubernetes objects")
	cmd.Flags().StringArrayVar(&s.grid, "grid", nil, gridUsage)
	shortAPIURL(cmd, e)
	outputFlag(cmd, e)
	return cmd
}

// A job is one task on its way to the server.
type job struct {
	about    string      // begins what is said of it, if there are several
	point    string      // of the grid; empty if there is none
	report   show.Report // of its file
	task     task.Spec
	warnings []string
}

func (e *env) submit(ctx context.Context, paths []string, s submission) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	points, err := grid(s.grid)
	if err != nil {
		return err
	}
	var jobs []job
	for _, file := range paths {
		of, err := e.read(file, s, points, len(paths)*len(points) > 1)
		if err != nil {
			return err
		}
		jobs = append(jobs, of...)
	}
	files := newUploader(e, c)
	defer files.close()
	for i, j := range jobs {
		if jobs[i].task, err = files.pack(ctx, j.task); err != nil {
			return about(j.about, err)
		}
	}
	if s.dryRun {
		return e.preview(ctx, c, jobs)
	}
	return e.submitJobs(ctx, files, jobs, s.detach)
}

// submitJobs submits the jobs, whose files are packed by now, and follows the logs of
// those that were taken.
func (e *env) submitJobs(ctx context.Context, files *uploader, jobs []job, detach bool) error {
	submitted, wrong := e.submitAll(ctx, files, jobs)
	var err error
	if e.format.IsData() {
		err = presentAll(e, len(jobs), submitted, nil)
	}
	if len(submitted) == 0 || err != nil || detach || e.format.IsData() {
		return cmp.Or(wrong, err)
	}
	ids := make([]string, len(submitted))
	for i := range submitted {
		ids[i] = submitted[i].ID
	}
	if wrong != nil {
		e.fail(wrong)
		wrong = exit.Silent(exit.Failure)
	}
	return cmp.Or(e.follow(ctx, files.client, ids, client.LogOptions{}), wrong)
}

// submitAll hands in the jobs and says what became of each, in their order. Those
// that the server refuses keep no other from being submitted.
func (e *env) submitAll(ctx context.Context, files *uploader, jobs []job) ([]task.Submitted, error) {
	answers, err := files.submitAll(ctx, jobs)
	var all []task.Submitted
	var wrong problems
	for i, got := range answers {
		j := jobs[i]
		if got.err != nil {
			wrong = append(wrong, about(j.about, got.err))
			continue
		}
		all = append(all, got.Submitted)
		for _, w := range append(j.warnings, newWarnings(got.Warnings, j.warnings)...) {
			e.warn("%s%s", j.about, w)
		}
		if e.format.IsData() {
			continue
		}
		fields := []show.Field{{Name: "Task ID", Value: got.ID}, {Name: "Status", Value: got.Status}}
		if j.point != "" {
			fields = append(fields, show.Field{Name: "Grid", Value: j.point})
		}
		show.Done(e.out, e.style, "Task submitted successfully", fields...)
	}
	if err != nil {
		wrong = append(wrong, err)
	}
	if len(wrong) == 0 {
		return all, nil
	}
	return all, wrong
}

// newWarnings returns the warnings of the server that reading the file has not given
// already.
func newWarnings(server, file []string) []string {
	return slices.DeleteFunc(slices.Clone(server), func(w string) bool { return slices.Contains(file, w) })
}

func about(file string, err error) error {
	if err == nil || file == "" {
		return err
	}
	return fmt.Errorf("%s%w", file, err)
}

// read returns the tasks of a file, one for each point, with the changes of s.
func (e *env) read(file string, s submission, points []point, several bool) ([]job, error) {
	data, err := e.readFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("Task file %s not found", file) //nolint:staticcheck // the original's words
	}
	if err != nil {
		return nil, err
	}
	overrides, err := e.overrides(s)
	if err != nil {
		return nil, err
	}
	envs := overrides.Envs
	jobs := make([]job, len(points))
	for i, p := range points {
		j := job{point: p.text}
		overrides.Envs = maps.Clone(envs)
		maps.Copy(overrides.Envs, p.envs)
		if s.dryRun {
			j.report = show.NewReport(j.called(file), taskfile.Check(data, overrides))
		}
		if j.task, j.warnings, err = taskfile.ParseWith(data, overrides); err != nil && s.dryRun {
			show.Findings(e.errOut, e.errStyle, j.report)
			return nil, exit.Silent(exit.Failure)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", j.called(file), err)
		}
		if several {
			j.about = j.called(file) + ": "
		}
		jobs[i] = j
	}
	return jobs, nil
}

// called returns what a job is called that comes from a file.
func (j job) called(file string) string {
	if j.point == "" {
		return display(file)
	}
	return display(file) + " with " + j.point
}

func display(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

func (e *env) readFile(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(e.in)
	}
	return os.ReadFile(file)
}
