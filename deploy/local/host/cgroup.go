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

// Cgroup is the control group below which the kubelet keeps all pods. It is
// named after the cluster, or two kubelets would clean up each other's pods.
func Cgroup(l layout.Layout) string { return "/k8s-cli-" + l.ID() }

// AddCgroup makes the group in every hierarchy there is. Whatever a former run
// left is removed first.
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

// RemoveCgroup removes the group. Its processes have ended by now, since they
// lived in the supervisor's process namespace.
func RemoveCgroup(l layout.Layout) error {
	for _, root := range hierarchies() {
		if err := removeTree(filepath.Join(root, Cgroup(l))); err != nil {
			return err
		}
	}
	return nil
}

// hierarchies are the roots of all control groups: one in version 2, one for
// each controller in version 1, and in a mixture one more without controllers.
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

// delegate lets the groups below dir have every controller that dir has. Only
// version 2 asks for it.
func delegate(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, controller := range strings.Fields(string(b)) {
		// One that cannot be had is missed by the kubelet, which says so better.
		_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
	}
	return nil
}

// inheritCpuset gives a new group of version 1 the processors and memory of
// its parent; an empty set takes no process.
func inheritCpuset(parent, dir string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		b, err := os.ReadFile(filepath.Join(parent, file))
		if err != nil {
			continue // not the hierarchy of cpuset
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

// removeTree removes a group and all below it, children first: a group's own
// files cannot be removed and need not be.
func removeTree(dir string) error {
	var groups []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			groups = append(groups, path)
		}
		return nil // what vanishes meanwhile is what we want
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
