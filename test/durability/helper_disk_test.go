package durability

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

const mib = 1 << 20

// A disk is an ext4 file system whose power can be cut. In a power cut a real disk loses two
// things: the data that the kernel had not written yet, and the data in the volatile cache
// of the disk that the kernel had not flushed. So a disk consists of two file systems, one
// inside the other:
//
//	dir     ext4, used by the server; its disk is a loop device on ...
//	image   ... a file of the outer ext4, whose page cache is the volatile cache
//	outer   ext4 on a loop device; data on this device is safe
//
// A flush that the inner file system sends to its disk is an fsync of the image
// (drivers/block/loop.c, REQ_OP_FLUSH). Apart from the kernel's own writeback, only such a
// flush makes data safe. cut shuts down the outer file system with the ioctl that file
// systems provide for such tests: from then on nothing is written, not even the journal.
// Mounting both file systems again replays their journals, as after a power cut.
type disk struct {
	dir   string // used by the server
	outer string
	image string
	loops [2]string // of outer and of dir
}

// newDisk returns a disk of size bytes.
func newDisk(t *testing.T, size int64) *disk {
	t.Helper()
	testkit.Program(t, "k8s-cli-server")
	if os.Geteuid() != 0 {
		t.Skip("disks of their own take root")
	}
	for _, tool := range []string{"losetup", "mkfs.ext4"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("disks of their own take %s", tool)
		}
	}
	d := &disk{dir: t.TempDir(), outer: t.TempDir()}
	d.image = filepath.Join(d.outer, "image")
	whole := filepath.Join(t.TempDir(), "outer")
	t.Cleanup(d.detach)
	make4(t, whole, size+size/4+32*mib)
	d.loops[0] = loop(t, whole)
	mount(t, d.loops[0], d.outer)
	make4(t, d.image, size)
	d.loops[1] = loop(t, d.image)
	mount(t, d.loops[1], d.dir)
	return d
}

// make4 creates a file that contains an empty ext4.
func make4(t *testing.T, path string, size int64) {
	t.Helper()
	f, err := os.Create(path)
	must.Succeed(t, err)
	must.Succeed(t, errors.Join(f.Truncate(size), f.Close()))
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-m", "0", path).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.ext4: %v: %s", err, out)
	}
}

func loop(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.Command("losetup", "--find", "--show", path).CombinedOutput()
	if err != nil {
		t.Skipf("no loop device can be had here: %v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func mount(t *testing.T, device, dir string) {
	t.Helper()
	if err := unix.Mount(device, dir, "ext4", 0, ""); err != nil {
		t.Skipf("an ext4 on a loop device cannot be mounted here: %v", err)
	}
}

// The ioctl that shuts down an ext4, and its flag not to write the journal
// (linux/fs/ext4/ext4.h).
const (
	ext4Shutdown   = 0x8004587d // _IOR('X', 125, __u32)
	withoutJournal = 2
)

// cut cuts the power: from now on no data becomes safe.
func (d *disk) cut(t *testing.T) {
	t.Helper()
	f, err := os.Open(d.outer)
	must.Succeed(t, err)
	defer f.Close()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), ext4Shutdown, withoutJournal); err != nil {
		t.Skipf("this kernel cannot shut an ext4 down: %v", err)
	}
}

// restore restores the power. No process may use the disk meanwhile.
func (d *disk) restore(t *testing.T) {
	t.Helper()
	if err := unix.Unmount(d.dir, 0); err != nil {
		t.Fatalf("unmount the disk: %v", err)
	}
	if out, err := exec.Command("losetup", "--detach", d.loops[1]).CombinedOutput(); err != nil {
		t.Fatalf("losetup: %v: %s", err, out)
	}
	d.loops[1] = ""
	eventually(t, "the disk's outer half is free", func() (string, bool) { // a loop device releases its file with a delay
		err := unix.Unmount(d.outer, 0)
		return "in use", err == nil
	})
	mount(t, d.loops[0], d.outer)
	d.loops[1] = loop(t, d.image)
	mount(t, d.loops[1], d.dir)
}

func (d *disk) detach() {
	_ = unix.Unmount(d.dir, unix.MNT_DETACH)
	if d.loops[1] != "" {
		_ = exec.Command("losetup", "--detach", d.loops[1]).Run()
	}
	_ = unix.Unmount(d.outer, unix.MNT_DETACH)
	if d.loops[0] != "" {
		_ = exec.Command("losetup", "--detach", d.loops[0]).Run()
	}
}
