package client

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

// isLocalDir reports whether workdir is a directory on this machine; otherwise it is a path
// in the image. isLocalDir returns an error if workdir can be neither.
func isLocalDir(workdir string) (bool, error) {
	dir := expandHome(workdir)
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

// MissingPaths returns the paths of a task that do not exist on this machine. The keys are
// field names, the values are sentences.
func MissingPaths(t task.Spec) map[string]string {
	all := map[string]string{}
	if _, err := isLocalDir(t.Workdir); err != nil {
		all["workdir"] = strings.TrimPrefix(err.Error(), "workdir: ")
	}
	for target, source := range t.FileMounts {
		if _, err := os.Stat(expandHome(source)); errors.Is(err, fs.ErrNotExist) {
			all["file_mounts."+target] = source + " does not exist on this machine"
		}
	}
	return all
}

// expandHome replaces a leading ~ by the home directory of the user.
func expandHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if home, err := os.UserHomeDir(); ok && err == nil && (rest == "" || rest[0] == '/') {
		return home + rest
	}
	return path
}

// targetOf returns the path in a container to which source is copied. A relative target
// is below the working directory, as in SkyPilot. A file is copied into a target that
// ends with a slash, as rsync does.
func targetOf(target, source string) string {
	into := strings.HasSuffix(target, "/")
	if !task.InImage(target) {
		target = task.WorkdirTarget + "/" + target
	}
	if info, err := os.Stat(expandHome(source)); into && err == nil && info.Mode().IsRegular() {
		target = path.Join(target, filepath.Base(source))
	}
	return path.Clean(target)
}

// ShownPath returns a path as a message shows it: relative if the path is below the current
// directory.
func ShownPath(what string) string {
	if here, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(here, what); err == nil && filepath.IsAbs(what) && filepath.IsLocal(rel) {
			return rel
		}
	}
	return what
}
