package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/cmd/k8s-cli/internal/transfer"
	"k8s-cli/pkg/client"
)

const copyHelp = `Copy a file or a directory from a running task to this machine, or from this
machine to a running task.

` + ref.ChangingHelp + `
One of SOURCE and TARGET is ID:PATH. A relative PATH begins where the scripts of
the task run, and ~ is the home directory of the container. If TARGET is a
directory that exists, the copy goes into this directory under the name of
SOURCE; otherwise TARGET is the name of the copy. The image must contain tar.

Symbolic links in a directory stay links. On the way to this machine, links
that lead out of the directory, and special files, are left out with a warning.
The server must allow sessions (--allow-exec).`

func newCopyCommand(e *env, s *server) *cobra.Command {
	var node int
	cmd := &cobra.Command{
		Use:     "cp SOURCE TARGET",
		Aliases: []string{"copy"},
		Short:   "Copy files from or to a running task",
		Long:    copyHelp,
		Example: "  k8s-cli jobs cp mqp6bsu4:out/model.pt .\n  k8s-cli jobs cp train:/tmp/profile profile --node 1\n  k8s-cli jobs cp config.yaml train:/etc/app/",
		Args:    takes(2, 2),
	}
	cmd.Flags().IntVar(&node, "node", 0, "rank of the node")
	s.shortFlag(cmd)
	cmd.RunE = s.run(func(ctx context.Context, c *client.Client, args []string) error {
		from, source, isFrom := taskPath(args[0])
		to, target, isTo := taskPath(args[1])
		if isFrom == isTo {
			return exit.Usagef("exactly one of SOURCE and TARGET must be ID:PATH")
		}
		find := ref.TaskToChange
		if isFrom {
			find = ref.Task
		}
		found, err := find(ctx, c, from+to)
		if err != nil {
			return err
		}
		k := &copying{env: e, client: c, id: found.ID, node: node}
		if isFrom {
			if err := k.download(ctx, path.Clean(source), args[1]); err != nil {
				return err
			}
			e.Say("Copied %s of node %d of task %s (%s) to %s", source, node, found.ID, found.Name, args[1])
			return nil
		}
		if err := k.upload(ctx, args[0], target); err != nil {
			return err
		}
		e.Say("Copied %s to %s of node %d of task %s (%s)", args[0], target, node, found.ID, found.Name)
		return nil
	})
	return cmd
}

// taskPath splits ID:PATH. A text with a slash, a backslash or a dot in front of the colon is a
// path of this machine.
func taskPath(text string) (id, file string, ok bool) {
	id, file, ok = strings.Cut(text, ":")
	if !ok || id == "" || strings.ContainsAny(id, `/\`) || strings.HasPrefix(id, ".") || filepath.VolumeName(text) != "" {
		return "", text, false
	}
	if file == "" {
		file = "."
	}
	return id, file, true
}

// A copying copies files between this machine and one node of a task.
type copying struct {
	env    *env
	client *client.Client
	id     string
	node   int
}

func (c *copying) skipped(file string) {
	c.env.Warn("%s was left out: it is a link or a special file", file)
}

// download copies a file or directory of the task.
func (c *copying) download(ctx context.Context, source, target string) error {
	dir, name := path.Dir(source), path.Base(source)
	switch name {
	case "/", ".", "..", "~": // a directory without a name of its own
		dir, name = source, "."
	}
	if info, err := os.Stat(target); err == nil && info.IsDir() {
		target = filepath.Join(target, name)
	}
	out, in := io.Pipe()
	unpacked := make(chan error, 1)
	go func() {
		err := transfer.Unpack(out, name, target, c.skipped)
		_ = out.CloseWithError(errors.Join(err, io.ErrClosedPipe))
		unpacked <- err
	}()
	err := c.exec(ctx, client.ExecOptions{Command: inShell(`exec tar -cf - -C "$1" -- "$2"`, dir, name), Stdout: in})
	_ = in.Close()
	if err != nil {
		err = c.missing(ctx, source, err)
	}
	if wrong := <-unpacked; err == nil || wrong != nil && errors.Is(err, wrong) {
		err = wrong
	}
	return err
}

// upload copies a file or directory of this machine.
func (c *copying) upload(ctx context.Context, source, target string) error {
	full, err := filepath.Abs(source)
	if err == nil {
		_, err = os.Stat(full)
	}
	if err != nil {
		return err
	}
	dir, name := path.Dir(target), path.Base(target)
	isDir, err := c.is(ctx, "-d", target)
	switch {
	case err != nil:
		return err
	case isDir:
		dir, name = target, filepath.Base(full)
	case strings.HasSuffix(target, "/"):
		return fmt.Errorf("%s is not a directory in node %d of task %s", target, c.node, c.id)
	}
	out, in := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := transfer.Pack(in, full, name, c.skipped)
		_ = in.CloseWithError(err)
		packed <- err
	}()
	err = c.exec(ctx, client.ExecOptions{Command: inShell(`exec tar -xof - -C "$1"`, dir), Stdin: out, Stdout: io.Discard})
	_ = out.CloseWithError(io.ErrClosedPipe)
	if wrong := <-packed; wrong != nil && !errors.Is(wrong, io.ErrClosedPipe) {
		return wrong
	}
	if err != nil {
		err = c.missing(ctx, dir, err)
	}
	return err
}

// inShell returns a command that runs script with a path as $1, in which ~ is the home directory of
// the container.
func inShell(script, path string, more ...string) []string {
	const home = `case $1 in "~"|"~/"*) k8s_cli_path=$HOME${1#"~"}; shift; set -- "$k8s_cli_path" "$@" ;; esac
`
	return append([]string{"/bin/sh", "-c", home + script, "sh", path}, more...)
}

// is reports whether a file of the task has a kind, a test of the shell.
func (c *copying) is(ctx context.Context, kind, path string) (bool, error) {
	code, err := c.client.Exec(ctx, c.id, client.ExecOptions{Node: c.node, Command: inShell("[ "+kind+` "$1" ]`, path), Stdout: io.Discard, Stderr: io.Discard})
	return code == 0, err
}

// missing returns the error about a file that the task does not have, or err if the task has the file.
func (c *copying) missing(ctx context.Context, path string, err error) error {
	exists, wrong := c.is(ctx, "-e", path)
	isLink, _ := c.is(ctx, "-L", path)
	if wrong != nil || exists || isLink {
		return err
	}
	return fmt.Errorf("%s does not exist in node %d of task %s", path, c.node, c.id)
}

// exec runs tar in the task. The error contains what the command says about its failure.
func (c *copying) exec(ctx context.Context, o client.ExecOptions) error {
	var said errOutput
	o.Node, o.Stderr = c.node, &said
	code, err := c.client.Exec(ctx, c.id, o)
	if err == nil && code != 0 {
		err = fmt.Errorf("tar in task %s failed with exit code %d: %s", c.id, code, strings.TrimSpace(string(said.text)))
	}
	return err
}
