package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/taskfile"
)

// A submission says what to change in the files and what to do once they are
// handed in.
type submission struct {
	detach bool
	name   string   // empty means as the file says
	nodes  int      // 0 means as the file says
	envs   []string // NAME=VALUE, or NAME for the value it has here

	secrets []string // so too
}

const secretUsage = "`NAME=VALUE` to give the task as a secret, or NAME for the value it has here, which keeps it out of the list of processes; may be repeated"

const submitHelp = `Submit tasks and follow their logs until they are over.

FILE is a SkyPilot task file, or - for the standard input. All files are read
before any task is submitted. A workdir that is a directory here or a git repository,
and file_mounts, are packed and uploaded, unless the server has them already; paths
are those of the directory where the command runs. Several logs follow each other, in the order of the
files. The log goes to the standard output as it is, byte for byte, after the lines
that say the task's id; all talk goes to the standard error.

The exit code says how the tasks ended, of several the highest:
  0 succeeded, 100 failed, 101 not finished, 102 not found, 103 stopped.
With --detach, or -o json or yaml, which imply it, 0 means submitted.`

func newSubmitCommand(e *env) *cobra.Command {
	var s submission
	cmd := &cobra.Command{
		Use:   "submit FILE...",
		Short: "Submit tasks and follow their logs",
		Long:  submitHelp,
		Args:  takes(1, anyNumber),
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := s.check(files, cmd.Flags().Changed("num-nodes")); err != nil {
				return err
			}
			return e.submit(cmd.Context(), files, s)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&s.detach, "detach", "d", false, "return as soon as the tasks are accepted")
	flags.StringVar(&s.name, "name", "", "name of the task, instead of the file's")
	flags.IntVar(&s.nodes, "num-nodes", 0, "number of nodes `N`, instead of the file's")
	flags.StringArrayVar(&s.envs, "env", nil, "`NAME=VALUE` to set in the task, or NAME for the value it has here; may be repeated")
	flags.StringArrayVar(&s.secrets, "secret", nil, secretUsage)
	shortAPIURL(cmd, e)
	outputFlag(cmd, e)
	return cmd
}

func (s submission) check(files []string, nodesGiven bool) error {
	if nodesGiven && s.nodes < 1 {
		return misused("--num-nodes %d is not at least 1", s.nodes)
	}
	for _, env := range s.envs {
		if env == "" || env[0] == '=' {
			return misused("--env %q is not NAME=VALUE", env)
		}
	}
	for _, secret := range s.secrets {
		if secret == "" || secret[0] == '=' {
			return misused("--secret is not NAME=VALUE")
		}
	}
	if i := slices.Index(files, "-"); i >= 0 && slices.Contains(files[i+1:], "-") {
		return misused("the standard input can be read only once")
	}
	return nil
}

// A job is one file on its way to the server.
type job struct {
	about    string // begins what is said of the file, if there are several
	task     task.Task
	warnings []string
}

func (e *env) submit(ctx context.Context, paths []string, s submission) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	jobs := make([]job, len(paths))
	for i, file := range paths {
		if jobs[i], err = e.read(file, s, len(paths) > 1); err != nil {
			return err
		}
	}
	files := newUploader(e, c)
	defer files.close()
	for i, j := range jobs {
		if jobs[i].task, err = files.pack(ctx, j.task); err != nil {
			return about(j.about, err)
		}
	}
	submitted, wrong := e.submitAll(ctx, files, jobs)
	if e.format.IsData() {
		err = presentAll(e, len(jobs), submitted, nil)
	}
	switch {
	case wrong != nil:
		return wrong
	case err != nil, s.detach, e.format.IsData():
		return err
	}
	ids := make([]string, len(submitted))
	for i := range submitted {
		ids[i] = submitted[i].ID
	}
	return e.follow(ctx, c, ids, client.LogOptions{})
}

// submitAll hands in the jobs, in their order, up to the first that fails.
func (e *env) submitAll(ctx context.Context, files *uploader, jobs []job) ([]task.Submitted, error) {
	var all []task.Submitted
	for _, j := range jobs {
		got, err := files.submit(ctx, j.task)
		if err != nil {
			return all, about(j.about, err)
		}
		all = append(all, got)
		for _, w := range append(j.warnings, unsaid(got.Warnings, j.warnings)...) {
			e.warn("%s%s", j.about, w)
		}
		if !e.format.IsData() {
			show.Done(e.out, e.style, "Task submitted successfully",
				show.Field{Name: "Task ID", Value: got.ID}, show.Field{Name: "Status", Value: got.Status})
		}
	}
	return all, nil
}

// unsaid returns the warnings of the server that reading the file has not given
// already.
func unsaid(server, file []string) []string {
	return slices.DeleteFunc(slices.Clone(server), func(w string) bool { return slices.Contains(file, w) })
}

func about(file string, err error) error {
	if err == nil || file == "" {
		return err
	}
	return fmt.Errorf("%s%w", file, err)
}

// read returns the task of a file with the changes of s.
func (e *env) read(file string, s submission, several bool) (job, error) {
	var j job
	if several {
		j.about = display(file) + ": "
	}
	data, err := e.readFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return j, fmt.Errorf("Task file %s not found", file) //nolint:staticcheck // the original's words
	}
	if err != nil {
		return j, err
	}
	overrides, err := e.overrides(s)
	if err != nil {
		return j, err
	}
	if j.task, j.warnings, err = taskfile.ParseWith(data, overrides); err != nil {
		return j, fmt.Errorf("%s: %w", display(file), err)
	}
	return j, nil
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

// overrides returns what s changes in every file.
func (e *env) overrides(s submission) (taskfile.Overrides, error) {
	o := taskfile.Overrides{Name: s.name, NumNodes: s.nodes}
	var err error
	if o.Envs, err = e.values("--env", s.envs); err != nil {
		return o, err
	}
	o.Secrets, err = e.values("--secret", s.secrets)
	return o, err
}

// values returns what a flag says by NAME=VALUE, or by NAME alone, which has its
// value in our environment.
func (e *env) values(flag string, said []string) (map[string]string, error) {
	all := map[string]string{}
	for _, one := range said {
		name, value, ok := strings.Cut(one, "=")
		if !ok {
			value, ok = e.lookup(name)
		}
		if !ok {
			return nil, misused("%s %s: there is no variable of that name here", flag, name)
		}
		all[name] = value
	}
	return all, nil
}
