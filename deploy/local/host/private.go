package host

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"k8s-cli/deploy/local/layout"
)

// Volumes is the directory in which Kubernetes creates host-path volumes. Kubernetes has no
// setting for this directory.
const Volumes = "/tmp/hostpath_pv"

// Private returns the attributes to start a supervisor in its own mount and process
// namespaces. When the supervisor exits for any reason, the kernel kills all processes and
// removes all mounts of these namespaces: containers, shims and volumes.
func Private() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
}

// Settle prepares the namespaces from inside. Settle mounts the directories of the cluster
// over the fixed paths of Kubernetes and containerd, so that the cluster does not share
// files with another kubelet, containerd or cluster of the machine.
func Settle(l layout.Layout) error {
	// Make all mounts private first, so that no mount propagates in or out. Then share the
	// mounts with the pods, because mount propagation requires shared mounts.
	for _, flag := range []uintptr{unix.MS_PRIVATE, unix.MS_SHARED} {
		if err := unix.Mount("", "/", "", unix.MS_REC|flag, ""); err != nil {
			return fmt.Errorf("make the mounts private: %w", err)
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	// Remove the files that a reboot of the machine would remove.
	if err := os.RemoveAll(l.Run()); err != nil {
		return err
	}
	for _, b := range []struct{ from, to string }{
		{l.Path("volumes"), Volumes},
		{l.Path("kubelet"), l.Run("kubelet")},
		{l.Path("pod-links"), "/var/log/containers"},
		{l.Run("containerd"), "/run/containerd"},
		{l.Run("cni"), "/var/lib/cni"},
	} {
		if err := bind(b.from, b.to); err != nil {
			return err
		}
	}
	return nil
}

// ShareVolumes ensures that the clusters of this user and of other users can all create
// volumes.
func ShareVolumes() error {
	if err := os.Mkdir(Volumes, 0o777); err == nil {
		return os.Chmod(Volumes, 0o777|os.ModeSticky) // regardless of the umask
	}
	if err := unix.Access(Volumes, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("keep volumes in %s, where Kubernetes wants them: %w", Volumes, err)
	}
	return nil
}

// bind mounts a directory at a second path.
func bind(from, to string) error {
	for _, dir := range []string{from, to} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount %s on %s: %w", from, to, err)
	}
	// A bind mount begins in the peer group of its source.
	return unix.Mount("", to, "", unix.MS_SHARED, "")
}

// OnOverlay reports whether dir is on an overlay file system, as in a container. Such a
// file system cannot hold another overlay.
func OnOverlay(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && fs.Type == unix.OVERLAYFS_SUPER_MAGIC
}
