package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"k8s-cli/pkg/task"
)

// What the paths of a task file mean on this machine.

// isHere reports whether a working directory is one of this machine; if not, it is
// one of the image. The error says that it can be neither.
func isHere(workdir string) (bool, error) {
	dir := expand(workdir)
	if workdir == "" || dir == "/" {
		return false, nil
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && task.InImage(workdir):
		return false, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("workdir: no directory %s on this machine; a directory of the image begins with / or ~/", task.Quote(workdir))
	case err == nil && !info.IsDir():
		return false, fmt.Errorf("workdir: %s is not a directory", task.Quote(workdir))
	}
	return true, nil
}

// missing returns what a task needs of this machine and is not there: sentences, by
// the field.
func missing(t task.Spec) map[string]string {
	all := map[string]string{}
	if _, err := isHere(t.Workdir); err != nil {
		all["workdir"] = strings.TrimPrefix(err.Error(), "workdir: ")
	}
	for target, source := range t.FileMounts {
		if _, err := os.Stat(expand(source)); errors.Is(err, fs.ErrNotExist) {
			all["file_mounts."+target] = source + " does not exist on this machine"
		}
	}
	return all
}

// expand returns what a path means here.
func expand(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if home, err := os.UserHomeDir(); ok && err == nil && (rest == "" || rest[0] == '/') {
		return home + rest
	}
	return path
}

// targetOf returns where a file or directory goes in a container: a path that is
// neither absolute nor in the home directory is one below the working directory,
// as in SkyPilot, and a file goes into what ends with a slash, as rsync has it.
func targetOf(target, source string) string {
	into := strings.HasSuffix(target, "/")
	if !task.InImage(target) {
		target = task.WorkdirTarget + "/" + target
	}
	if info, err := os.Stat(expand(source)); into && err == nil && info.Mode().IsRegular() {
		target = path.Join(target, filepath.Base(source))
	}
	return path.Clean(target)
}

// shown is a path as people write it here.
func shown(what string) string {
	if here, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(here, what); err == nil && filepath.IsAbs(what) && filepath.IsLocal(rel) {
			return rel
		}
	}
	return what
}
