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
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"k8s-cli/cmd/k8s-cli/internal/complete"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/grid"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/taskfile"
	"k8s-cli/pkg/taskfile/documents"
)

const submitHelp = `Submit tasks, and follow their logs until the tasks end.

FILE is a SkyPilot task file, or - for stdin. The command reads all files before
it submits the first task, and submits several tasks in one request. It reports
each task that the server rejects.

A file of several documents is a pipeline or a job group. The tasks of either
belong to one group.

The tasks of a pipeline run one after the other. Each task starts when the task
before has completed. If a task fails or is stopped, the tasks after it fail
with the reason DependencyFailed. The server accepts all tasks of a pipeline, or
none.

The tasks of a job group (execution: parallel in the first document) start
together or not at all, and reach each other as {task}-{rank}.{group}. A primary
task that fails ends the others. When all primary tasks have completed, the
auxiliary tasks end after termination_delay.

--grid and --num-jobs submit a sweep: one group of tasks, with the name of
--group or a generated name. The variables SKYPILOT_JOB_RANK and
SKYPILOT_NUM_JOBS tell each task its number, from 0, and the number of tasks.

The command uploads a workdir that is a local directory or a git repository, and
file_mounts, unless the server already has the files. Paths are relative to the
current directory.

--env-file and --secret-file read dotenv files: lines NAME=VALUE, with comments
after #. Values in single quotes are literal; values in double quotes may have
the escapes \n, \r, \t, \", \\ and \$. Values in quotes may have several lines.
The command does not replace $NAME in values.

The log goes to stdout unchanged, after the lines that show the id of the task;
messages go to stderr. The command prints the logs of several tasks one after
the other, and those of a job group at the same time, with the name of the task
before each line.

Exit codes (with several tasks, the highest code; with --fail-fast, 100 if a
task failed and the others were stopped):
  0 succeeded, 100 failed, 101 not finished, 102 not found, 103 stopped.
With --detach, or with -q or an -o for programs, which imply it, 0 means
submitted.

With --dry-run, the command prints its findings on the fields of each file to
stderr, as validate does, and the Kubernetes objects as YAML to stdout. It packs
files but does not upload them. 0 means that the files are valid.`

func newSubmitCommand(e *env, s *server) *cobra.Command {
	var o submitOptions
	cmd := &cobra.Command{
		Use:     "submit (FILE... | -- COMMAND...)",
		Aliases: []string{"launch"},
		Short:   "Submit tasks and follow their logs",
		Long:    submitHelp,
		Example: `  # Submit a task, and follow its log
  k8s-cli jobs submit train.yaml --env EPOCHS=3

  # Submit a task from stdin, and print only its id
  k8s-cli jobs submit - -q < train.yaml

  # Submit one task for each combination of values
  k8s-cli jobs submit -d train.yaml --grid LR=0.1,0.01 --grid EPOCHS=3,10

  # Submit 100 copies in one group, which read their rank from SKYPILOT_JOB_RANK
  k8s-cli jobs submit -d shard.yaml --num-jobs 100 --group shards

  # Submit 500 copies: at most 20 run at once, and the first failure
  # stops the others
  k8s-cli jobs submit -d shard.yaml --num-jobs 500 --max-parallel 20 --fail-fast

  # Submit a pipeline: tasks that run one after the other
  k8s-cli jobs submit -d train-then-eval.yaml

  # Run a command without a task file
  k8s-cli jobs submit --gpus A100:1 -- nvidia-smi -L

  # Show the Kubernetes objects; submit nothing
  k8s-cli jobs submit --dry-run train.yaml`,
		Args:              takes(1, anyNumber),
		ValidArgsFunction: complete.TaskFiles,
	}
	p := newPrinter(&e.Console, cmd)
	p.quietFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		files, err := o.inline(files, cmd.ArgsLenAtDash())
		if err != nil {
			return err
		}
		if err := o.check(files, cmd.Flags()); err != nil {
			return err
		}
		for _, text := range o.warnings(cmd.Flags()) {
			p.Warn("%s", text)
		}
		c, err := s.client()
		if err != nil {
			return err
		}
		return newSubmitter(e, p, c, o).submit(cmd.Context(), files)
	}
	o.flags(cmd, "the value in the file")
	groupFlag(cmd, s, &o.group, "submit the tasks to the group of this `name`")
	cmd.Flags().IntVar(&o.maxParallel, "max-parallel", 0, "let at most `N` tasks of the group be active at once; the others wait")
	cmd.Flags().BoolVar(&o.failFast, "fail-fast", false, "stop the other tasks of the group as soon as one fails")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "submit nothing; print how the server treats each field, and the Kubernetes objects")
	cmd.Flags().StringArrayVar(&o.grid, "grid", nil, grid.Usage)
	cmd.Flags().IntVar(&o.copies, "num-jobs", 0, "submit `N` copies of each task")
	yes := cmd.Flags().Lookup("yes")
	yes.Hidden, yes.Usage = false, fmt.Sprintf("skip the prompt before submitting more than %s tasks on a terminal", show.Count(askAbove))
	s.shortFlag(cmd)
	return cmd
}

// A job is one task that the command submits.
type job struct {
	about    string      // prefix of messages about the task; empty for a single task
	original string      // id and name of the task that runs again; empty for a new task
	point    string      // NAME=VALUE of the grid's variables; empty without --grid
	text     []byte      // of the file of the task
	report   show.Report // the findings on the file; only with --dry-run
	task     task.Spec
	group    group.Membership
	together bool               // the file has several tasks, which are submitted together: a pipeline or a job group
	member   group.JobGroupItem // of a job group; empty in a pipeline
	warnings []string
}

// A submitter submits the tasks of one command.
type submitter struct {
	*printer

	env     *env
	client  *client.Client
	files   *uploader
	options submitOptions

	pipeline string // name of the pipeline; empty if the jobs form no pipeline
}

func newSubmitter(e *env, p *printer, c *client.Client, o submitOptions) *submitter {
	return &submitter{printer: p, env: e, client: c, files: newUploader(p.Console, c), options: o}
}

func (s *submitter) submit(ctx context.Context, paths []string) error {
	defer s.files.Close()
	points, err := grid.Sweep(s.options.grid, s.options.copies)
	if err != nil {
		return err
	}
	var jobs []job
	for _, file := range paths {
		of, err := s.read(file, points, len(paths)*len(points) > 1)
		if err != nil {
			return err
		}
		jobs = append(jobs, of...)
	}
	if n := len(paths) * len(points); n > askAbove && s.Asks && !s.options.dryRun {
		if yes, err := s.confirmed(s.options.yes, fmt.Sprintf("Do you want to submit %s tasks?", show.Count(n)), "--yes"); !yes {
			return err
		}
	}
	if len(paths)*len(points) > 1 && slices.ContainsFunc(jobs, func(j job) bool { return j.together }) {
		return exit.Usagef("a file of several tasks is a pipeline or a job group, which cannot be combined with other files, --grid or --num-jobs; submit the file alone")
	}
	for i, j := range jobs {
		if jobs[i].task, err = s.files.Pack(ctx, j.task); err != nil {
			return about(j.about, inLine(err, j.text))
		}
	}
	if s.options.dryRun {
		return preview(ctx, s.client, s.printer, jobs)
	}
	if err := s.assignGroup(jobs, points[0].Rank != nil || jobs[0].together, paths[0]); err != nil {
		return err
	}
	return s.submitJobs(ctx, jobs)
}

// askAbove is the number of tasks that the command submits without a question to a person, who may
// have mistyped a number.
const askAbove = 1000

// submitJobs submits the jobs, whose files must be packed, and follows the logs of the
// accepted tasks.
func (s *submitter) submitJobs(ctx context.Context, jobs []job) error {
	submitted, wrong := s.submitAll(ctx, jobs)
	var err error
	if s.format.IsData() {
		err = presentAll(s.printer, len(jobs), submitted, nil)
	}
	if len(submitted) == 0 || err != nil || s.options.detach || s.format.IsData() {
		return cmp.Or(wrong, err)
	}
	ids := make([]string, len(submitted))
	for i := range submitted {
		ids[i] = submitted[i].ID
	}
	if wrong != nil {
		printError(s.Console, wrong)
		wrong = exit.Silent(exit.Failure)
	}
	logs := follow
	if jobs[0].member.Name != "" {
		logs = followTogether // the tasks of a job group run at the same time
	}
	err = logs(ctx, s.env, s.client, ids, logging{})
	if exit.Is(err, exit.TaskStopped) && s.options.failFast {
		g, unknown := groupOf(ctx, s.client, jobs[0].group.Group)
		err = cmp.Or(unknown, codeError(phaseCode(g.Phase)))
	}
	return cmp.Or(err, wrong)
}

// submitAll submits the jobs and prints the result of each job, in the order of the jobs.
// A rejected job does not prevent the submission of the other jobs.
func (s *submitter) submitAll(ctx context.Context, jobs []job) ([]task.Submitted, error) {
	answers, err := s.files.submitAll(ctx, jobs)
	var all []task.Submitted
	var points []show.GridTask
	var wrong problems
	for i, got := range answers {
		j := jobs[i]
		if got.err != nil {
			wrong = append(wrong, about(j.about, got.err))
			continue
		}
		all = append(all, got.Submitted)
		for _, w := range append(j.warnings, newWarnings(got.Warnings, j.warnings)...) {
			s.Warn("%s%s", j.about, w)
		}
		switch {
		case s.format.IsData():
		case j.point != "":
			points = append(points, show.GridTask{ID: got.ID, Point: j.point})
		default:
			fields := []show.Field{{Name: "Task ID", Value: got.ID}, {Name: "Status", Value: got.Status}}
			if j.together && j.task.Name != "" {
				fields = slices.Insert(fields, 1, show.Field{Name: "Name", Value: j.task.Name})
			}
			if j.original != "" {
				fields = append(fields, show.Field{Name: "Again", Value: j.original})
			}
			if j.group.Group != "" {
				fields = append(fields, show.Field{Name: "Group", Value: j.group.Group})
			}
			s.Done("Task submitted successfully", fields...)
		}
	}
	if len(points) > 0 {
		show.Grid(s.Out, s.Style, points)
	}
	if len(points) > 0 || len(all) > 1 {
		sayGroup(s.Console, jobs)
	}
	if err != nil {
		wrong = append(wrong, err)
	}
	return all, wrong.err()
}

// newWarnings returns the warnings of the server that are not among the warnings for the
// file.
func newWarnings(server, file []string) []string {
	return slices.DeleteFunc(slices.Clone(server), func(w string) bool { return slices.Contains(file, w) })
}

// inLine adds the line of a field to an error that begins with the path of the field.
func inLine(err error, text []byte) error {
	field, _, ok := strings.Cut(err.Error(), ": ")
	line := taskfile.Lines(text)[field]
	if !ok || line == 0 {
		return err
	}
	return fmt.Errorf("line %d, %w", line, err)
}

func about(file string, err error) error {
	if err == nil || file == "" {
		return err
	}
	return fmt.Errorf("%s%w", file, err)
}

// read returns one job for each point from a task file, with the overrides applied.
func (s *submitter) read(file string, points []grid.Point, several bool) ([]job, error) {
	data, err := s.text(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("Task file %s not found", file) //nolint:staticcheck // the original's words
		if !isTaskFile(file) {
			err = fmt.Errorf("%w; to run a command, write: k8s-cli jobs submit -- %s", err, file)
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	overrides, err := s.options.overrides(s.env.lookup)
	if err != nil {
		return nil, err
	}
	f, err := documents.Split(data)
	data = documents.Text(data)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", display(file), err)
	case f.Several():
		return s.readSeveral(file, f, overrides)
	}
	envs := overrides.Envs
	jobs := make([]job, len(points))
	for i, p := range points {
		overrides.Envs = maps.Clone(envs)
		maps.Copy(overrides.Envs, p.Envs)
		maps.Copy(overrides.Envs, p.Rank)
		called := nameAt(file, p)
		if jobs[i], err = s.parse(called, data, overrides); err != nil {
			return nil, err
		}
		jobs[i].point = p.Text
		jobs[i].task = withPoint(jobs[i].task, p.Text)
		if several {
			jobs[i].about = called + ": "
		}
	}
	s.remarkOnGrid(file, data, points)
	return jobs, nil
}

// maxPoint bounds the stored text of a point, in bytes.
const maxPoint = 256

// withPoint stores the point of a sweep with the task, so that lists show it. A task that already has
// the largest size of annotations stays as it is.
func withPoint(t task.Spec, point string) task.Spec {
	if point == "" {
		return t
	}
	more := t
	more.Annotations = maps.Clone(t.Annotations)
	if more.Annotations == nil {
		more.Annotations = map[string]string{}
	}
	more.Annotations[task.AnnotationPoint] = strings.ToValidUTF8(point[:min(len(point), maxPoint)], "")
	if more.CheckAnnotations() != nil {
		return t
	}
	return more
}

// remarkOnGrid warns of variables of the grid that a file does not declare: the task may use
// another name, and then all tasks do the same.
func (s *submitter) remarkOnGrid(file string, data []byte, points []grid.Point) {
	for _, name := range slices.Sorted(maps.Keys(points[0].Envs)) {
		if !taskfile.Declares(data, name) {
			s.Warn("%s: --grid adds the variable %s, which envs of the file does not have", display(file), name)
		}
	}
}

// parse returns the job of one task. called is the name of the task in messages.
func (s *submitter) parse(called string, data []byte, o taskfile.Overrides) (j job, err error) {
	if s.options.dryRun {
		j.report = show.NewReport(called, taskfile.Check(data, o))
	}
	switch j.task, j.warnings, err = taskfile.ParseWith(data, o); {
	case err == nil:
		j.text = data
		return j, nil
	case s.options.dryRun:
		show.Findings(s.ErrOut, s.ErrStyle, j.report)
		return j, exit.Silent(exit.Failure)
	}
	return j, fmt.Errorf("%s: %w", called, err)
}

// nameAt returns the name of a task in messages: its file and its point of the grid.
func nameAt(file string, p grid.Point) string {
	if p.Text == "" {
		return display(file)
	}
	return display(file) + " with " + p.Text
}

func display(file string) string {
	switch file {
	case "-":
		return "standard input"
	case commandFile:
		return "the command"
	}
	return file
}

// readFile returns the content of a file, or of stdin if file is "-".
// text returns the text of a task file.
func (s *submitter) text(file string) ([]byte, error) {
	if file != commandFile {
		return readFile(s.In, file)
	}
	return yaml.Marshal(map[string]string{"run": s.options.command + "\n"})
}

func readFile(stdin io.Reader, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(file)
}
