package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"k8s-cli/deploy/local/layout"
)

const cgroups = "/sys/fs/cgroup"

// Cgroup returns the control group in which the kubelet creates the groups of all pods. The
// name contains the id of the cluster, so that two kubelets do not delete the pods of each
// other.
func Cgroup(l layout.Layout) string { return "/k8s-cli-" + l.ID() }

// AddCgroup creates the group in every hierarchy, after it removes the leftovers of an
// earlier run.
func AddCgroup(l layout.Layout) error {
	if err := RemoveCgroup(l); err != nil {
		return err
	}
	for _, root := range hierarchies() {
		dir := filepath.Join(root, Cgroup(l))
		if err := delegate(root); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("add the control group %s: %w", dir, err)
		}
		if err := delegate(dir); err != nil {
			return err
		}
		if err := inheritCpuset(root, dir); err != nil {
			return err
		}
	}
	return nil
}

// RemoveCgroup removes the group. The processes of the group have exited by then, because
// they belonged to the process namespace of the supervisor.
func RemoveCgroup(l layout.Layout) error {
	for _, root := range hierarchies() {
		if err := removeTree(filepath.Join(root, Cgroup(l))); err != nil {
			return err
		}
	}
	return nil
}

// hierarchies returns the roots of all control groups: one root in version 2, one root for
// each controller in version 1, and in hybrid mode one additional root without controllers.
func hierarchies() []string {
	var fs unix.Statfs_t
	if unix.Statfs(cgroups, &fs) == nil && fs.Type == unix.CGROUP2_SUPER_MAGIC {
		return []string{cgroups}
	}
	var roots []string
	entries, _ := os.ReadDir(cgroups)
	for _, e := range entries {
		root := filepath.Join(cgroups, e.Name())
		if e.IsDir() && unix.Statfs(root, &fs) == nil && (fs.Type == unix.CGROUP_SUPER_MAGIC || fs.Type == unix.CGROUP2_SUPER_MAGIC) {
			roots = append(roots, root)
		}
	}
	return roots
}

// delegate enables all controllers of dir for the groups below dir. Only version 2 requires
// this.
func delegate(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, controller := range strings.Fields(string(b)) {
		// If a controller cannot be enabled, the kubelet reports a better error.
		_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
	}
	return nil
}

// inheritCpuset copies the CPUs and memory nodes of the parent to a new group of version 1,
// because a group with an empty set accepts no process.
func inheritCpuset(parent, dir string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		b, err := os.ReadFile(filepath.Join(parent, file))
		if err != nil {
			continue // not the cpuset hierarchy
		}
		if _, v2 := os.Stat(filepath.Join(dir, "cgroup.controllers")); v2 == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, file), b, 0o644); err != nil {
			return fmt.Errorf("set %s of %s: %w", file, dir, err)
		}
	}
	return nil
}

// removeTree removes a group and all groups below it, children first. The files of a group
// disappear with the group.
func removeTree(dir string) error {
	var groups []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			groups = append(groups, path)
		}
		return nil // another process has removed the group
	})
	if err != nil {
		return err
	}
	for _, group := range slices.Backward(groups) {
		if err := unix.Rmdir(group); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("remove the control group %s: %w", group, err)
		}
	}
	return nil
}
