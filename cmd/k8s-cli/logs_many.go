package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/logline"
	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// A together writer serialises the lines of several logs and the messages about them.
type together struct {
	mu  sync.Mutex
	out io.Writer
}

func (t *together) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.Write(text)
}

// followTogether prints the logs of tasks at the same time. It returns an error with the
// highest of the tasks' exit codes.
func followTogether(ctx context.Context, e *env, c *client.Client, ids []string, o logging) error {
	tasks, wrong := each(ids, func(text string) (task.Status, error) { return ref.Task(ctx, c, text) })
	if wrong != nil {
		return wrong
	}
	ctx, stop := e.interrupts(ctx)
	defer stop()
	screen := e.Console
	screen.ErrOut = &together{out: e.ErrOut}
	out := &together{out: e.Out}
	codes, errs := make([]int, len(tasks)), make([]error, len(tasks))
	var logs sync.WaitGroup
	for i, t := range tasks {
		logs.Go(func() {
			w := o.writer(&screen, out, screen.Style.Rank(i, show.Plain(labelOf(t))+" | "))
			options := o.LogOptions
			options.Interrupted = func(cause error) { interrupted(&screen, t.ID, cause) }
			err := c.Logs(ctx, t.ID, options, w)
			codes[i], errs[i] = logEnded(ctx, &screen, c, t.ID, errors.Join(err, w.Close()))
		})
	}
	logs.Wait()
	if ctx.Err() != nil {
		fmt.Fprintln(screen.ErrOut, "\nStopped tailing logs")
		return exit.Silent(exit.TaskNotFinished)
	}
	highest := 0
	for _, code := range codes {
		highest = max(highest, code)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return codeError(highest)
}

// labelOf returns what each line of the log of a task begins with: the name of the task in its job
// group, where names are unique, or its id.
func labelOf(t task.Status) string {
	if t.Metadata.JobGroup != "" {
		return t.Name
	}
	return t.ID
}

// maxFiles is the limit of files that the log of one task may have. It is far more than the
// nodes of any task.
const maxFiles = 100_000

// download writes the present logs of tasks to files, and prints the names of the files. It
// returns an error with the highest of the tasks' exit codes.
func download(ctx context.Context, e *env, c *client.Client, ids []string, o logging) error {
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	dir, err := os.OpenRoot(o.dir)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	o.NoFollow = true
	tasks, wrong := each(ids, func(text string) (task.Status, error) { return ref.Task(ctx, c, text) })
	highest := 0
	for _, t := range tasks {
		for rank := range min(max(t.Metadata.NumNodes, 1), maxFiles) {
			if o.Node != nil && *o.Node != rank {
				continue
			}
			name, err := downloadNode(ctx, dir, c, t.ID, rank, o)
			if err != nil {
				return fmt.Errorf("download the log of node %d of task %s: %w", rank, t.ID, err)
			}
			fmt.Fprintln(e.Out, show.Plain(filepath.Join(o.dir, name)))
		}
		e.Say("%s", summary(t))
		highest = max(highest, phaseCode(t.Phase))
	}
	if wrong != nil {
		return wrong
	}
	return codeError(highest)
}

// downloadNode writes the log of one node to a file and returns the name of the file. A log
// that breaks off leaves no file.
func downloadNode(ctx context.Context, dir *os.Root, c *client.Client, id string, rank int, o logging) (name string, err error) {
	if strings.ContainsAny(id, `/\`) || !filepath.IsLocal(id) {
		return "", fmt.Errorf("the id of the task is not the name of a directory")
	}
	if err := dir.MkdirAll(id, 0o755); err != nil {
		return "", err
	}
	name = filepath.Join(id, fmt.Sprintf("node-%d.log", rank))
	file, err := dir.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return "", err
	}
	w := logline.New(file, o.lines)
	o.Node = &rank
	err = errors.Join(c.Logs(ctx, id, o.LogOptions, w), w.Close(), file.Close())
	if err != nil {
		_ = dir.Remove(name)
	}
	return name, err
}
