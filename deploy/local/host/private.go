package host

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"k8s-cli/deploy/local/layout"
)

// Volumes is where Kubernetes keeps host-path volumes; it cannot be told to use
// another place.
const Volumes = "/tmp/hostpath_pv"

// Private says how to start a supervisor in mount and process namespaces of
// its own. When it dies, by whatever cause, the kernel ends every process and
// undoes every mount that was made below it: containers, shims, volumes.
func Private() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
}

// Settle arranges the namespaces from within. The places that Kubernetes and
// containerd have hard-wired lead into the cluster's own directories from here
// on, so that it meets no other kubelet, containerd or cluster of the machine.
func Settle(l layout.Layout) error {
	// Private first, so that nothing comes or goes; then shared among the pods
	// below, which mount propagation asks for.
	for _, flag := range []uintptr{unix.MS_PRIVATE, unix.MS_SHARED} {
		if err := unix.Mount("", "/", "", unix.MS_REC|flag, ""); err != nil {
			return fmt.Errorf("make the mounts private: %w", err)
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	// What the machine lost at its last start, this cluster shall lose, too.
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

// ShareVolumes makes sure that this user's clusters can keep volumes, and the
// other users' theirs.
func ShareVolumes() error {
	if err := os.Mkdir(Volumes, 0o777); err == nil {
		return os.Chmod(Volumes, 0o777|os.ModeSticky) // whatever the umask is
	}
	if err := unix.Access(Volumes, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("keep volumes in %s, where Kubernetes wants them: %w", Volumes, err)
	}
	return nil
}

// bind makes one directory appear at another place, too.
func bind(from, to string) error {
	for _, dir := range []string{from, to} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount %s on %s: %w", from, to, err)
	}
	// A bind mount starts in the peer group of what it shows.
	return unix.Mount("", to, "", unix.MS_SHARED, "")
}

// OnOverlay reports whether dir is on an overlay file system, which cannot
// carry another one: the machine is itself a container.
func OnOverlay(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && fs.Type == unix.OVERLAYFS_SUPER_MAGIC
}
