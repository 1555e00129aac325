package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/complete"
	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/cmd/k8s-cli/internal/transfer"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/client/pack"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/outputs"
)

const downloadHelp = `Download the outputs of a task: the files under outputs in its task file, which
the server stores when the scripts of a node have ended.

` + ref.Help + `

The command writes the files to DIR, by default to a directory with the id of
the task. With --group, each task has a directory of its own in DIR: its id, and
for a sweep its variables, such as mqp6bsu4_LR=0.1. The files of a task with
several nodes are in node-0, node-1 and so on. A path of the task file that
begins with / keeps its directories.

Existing files stay unless you pass --force; the command then writes nothing.
Symbolic links that lead out of DIR, and special files, are left out with a
warning. The server keeps outputs until the task leaves the history.`

// An outputDownload holds the flags and the target of the command download.
type outputDownload struct {
	env   *env
	dir   string // empty means a directory with the id of the task
	node  int    // negative means all nodes
	force bool
	group string
}

func newDownloadCommand(e *env, s *server) *cobra.Command {
	d := outputDownload{env: e}
	cmd := &cobra.Command{
		Use:   "download ID [DIR]",
		Short: "Download the outputs of a task",
		Long:  downloadHelp,
		Example: `  # Write the outputs of a task to the directory results
  k8s-cli jobs download mqp6bsu4 results

  # Write the outputs of all tasks of a sweep, each to a directory of its own
  k8s-cli jobs download --group sweep-lr results`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("group") {
				return takes(0, 1)(cmd, args)
			}
			return takes(1, 2)(cmd, args)
		},
		ValidArgsFunction: complete.Tasks(s.completion),
	}
	cmd.Flags().IntVar(&d.node, "node", -1, "download only the outputs of the node with this rank")
	cmd.Flags().BoolVar(&d.force, "force", false, "overwrite existing files")
	groupFlag(cmd, s, &d.group, "download the outputs of the tasks in the group of this `name`")
	s.shortFlag(cmd)
	cmd.RunE = s.run(func(ctx context.Context, c *client.Client, args []string) error {
		if cmd.Flags().Changed("node") && d.node < 0 {
			return exit.Usagef("--node: %d is not the rank of a node; the first node is 0", d.node)
		}
		if cmd.Flags().Changed("group") {
			return d.downloadGroup(ctx, c, append(args, "")[0])
		}
		d.dir = append(args, "")[1]
		found, err := ref.Task(ctx, c, args[0])
		if err != nil {
			return err
		}
		return d.downloadTask(ctx, c, found)
	})
	return cmd
}

// downloadGroup downloads the outputs of the tasks of a group. Tasks without outputs are left out.
func (d outputDownload) downloadGroup(ctx context.Context, c *client.Client, dir string) error {
	ids, err := tasksOfGroup(ctx, c, d.group)
	if err != nil {
		return err
	}
	var wrong problems
	count := 0
	for _, id := range ids {
		found, err := c.Task(ctx, id)
		if err == nil && len(found.Metadata.Outputs) > 0 {
			count++
			d.dir = filepath.Join(cmp.Or(dir, d.group), directoryOf(found))
			err = d.downloadTask(ctx, c, found)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("task %s: %w", id, err))
		}
	}
	if count == 0 && len(wrong) == 0 {
		return fmt.Errorf("no task of the group %s has outputs yet", d.group)
	}
	return wrong.err()
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9=._+-]+`)

// directoryOf returns the name of the directory of a task of a group: its id, and its point of a sweep.
func directoryOf(t task.Status) string {
	const most = 100 // bytes
	point := notInNames.ReplaceAllString(t.Metadata.Annotations[task.AnnotationPoint], "_")
	if point == "" || !isID.MatchString(t.ID) {
		return t.ID
	}
	return t.ID + "_" + point[:min(len(point), most)]
}

var isID = regexp.MustCompile("^[a-z0-9]+$")

// downloadTask downloads the outputs of one task.
func (d outputDownload) downloadTask(ctx context.Context, c *client.Client, t task.Status) error {
	if d.dir == "" && !isID.MatchString(t.ID) { // a server must not choose the directory
		return fmt.Errorf("the server says that the id of the task is %q, which is not an id; name a directory", t.ID)
	}
	dir, stored := cmp.Or(d.dir, t.ID), t.Metadata.Outputs
	if d.node >= 0 || len(stored) == 0 { // the server says why no outputs exist
		return d.downloadNode(ctx, c, t.ID, outputs.Output{Node: max(d.node, 0)}, dir)
	}
	var wrong problems
	for _, o := range stored {
		to := dir
		if t.Metadata.NumNodes > 1 {
			to = filepath.Join(dir, "node-"+strconv.Itoa(o.Node))
		}
		if o.Error != "" {
			wrong = append(wrong, fmt.Errorf("node %d: %s", o.Node, o.Error))
		}
		for _, path := range o.Missing {
			d.env.Warn("node %d has no %s", o.Node, path)
		}
		if o.Size == 0 {
			continue
		}
		if err := d.downloadNode(ctx, c, t.ID, o, to); err != nil {
			wrong = append(wrong, err)
		}
	}
	return wrong.err()
}

// downloadNode writes the outputs of one node to dir. The archive is complete and has the checksum
// of the server before the first file is written.
func (d outputDownload) downloadNode(ctx context.Context, c *client.Client, id string, o outputs.Output, dir string) error {
	archive, err := os.CreateTemp("", "k8s-cli-outputs-")
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(archive.Close(), os.Remove(archive.Name())) }()
	size, err := d.fetch(ctx, c, id, o.Node, archive)
	if errors.Is(err, client.ErrOutputsChanged) {
		if _, err = archive.Seek(0, io.SeekStart); err == nil {
			err = archive.Truncate(0)
		}
		if err == nil {
			size, err = d.fetch(ctx, c, id, o.Node, archive)
		}
	}
	if err != nil {
		return err
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return err
	}
	err = transfer.UnpackGzip(archive, dir, d.force, func(file string) {
		d.env.Warn("%s was left out: it is a link that leads out of %s, or a special file", file, dir)
	})
	if err != nil {
		return fmt.Errorf("node %d: %w", o.Node, err)
	}
	d.env.Say("Downloaded the outputs of node %d (%s) to %s", o.Node, pack.FormatSize(size), dir)
	return nil
}

// fetch copies the archive of one node to w, and compares its checksum.
func (d outputDownload) fetch(ctx context.Context, c *client.Client, id string, node int, w io.Writer) (size int64, err error) {
	stored, err := c.Outputs(ctx, id, node)
	if err != nil {
		return 0, err
	}
	line := console.NewMeter(&d.env.Console, fmt.Sprintf("Downloading the outputs of node %d", node))
	defer stored.Body.Close()
	sum := sha256.New()
	size, err = io.Copy(io.MultiWriter(w, sum, line.Counter(stored.Size)), stored.Body)
	line.Clear()
	switch got := hex.EncodeToString(sum.Sum(nil)); {
	case err != nil:
		return 0, fmt.Errorf("download the outputs of node %d: %w; repeat the command", node, err)
	case got != stored.Sum:
		return 0, fmt.Errorf("download the outputs of node %d: the SHA-256 of the archive is %s, want %s; repeat the command", node, got, stored.Sum)
	}
	return size, nil
}
