package host

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s-cli/deploy/local/layout"
)

func TestATakenPortIsNamed(t *testing.T) {
	l := layout.Layout{Nodes: layout.Kwok, Instance: layout.MaxInstance}
	taken, err := net.Listen("tcp", l.Addr(layout.Scheduler))
	if err != nil {
		t.Skipf("the port of this test is in use: %v", err)
	}
	defer taken.Close()
	err = portFree(l, layout.Scheduler)
	if err == nil || !strings.Contains(err.Error(), "for the scheduler, is taken") {
		t.Errorf("PortsFree = %v, want the scheduler's port named", err)
	}
}

func TestZombieOf(t *testing.T) {
	for _, tt := range []struct {
		name string
		stat string
		pid  int
		ok   bool
	}{
		{"a dead child", "12 (sh) Z 1 12 12 0", 12, true},
		{"a living child", "12 (sh) S 1 12 12 0", 12, false},
		{"somebody else's dead child", "12 (sh) Z 7 12 12 0", 12, false},
		{"a name that looks like fields", "12 (a) S 9 (b) Z 1 12 12 0", 12, true},
		{"no process at all", "", 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pid, ok := zombieOf(1, tt.stat)
			if pid != tt.pid || ok != tt.ok {
				t.Errorf("zombieOf = %d, %v, want %d, %v", pid, ok, tt.pid, tt.ok)
			}
		})
	}
}

func TestChildOf(t *testing.T) {
	const status = "Name:\tetcd\nPid:\t510\nPPid:\t500\nNSpid:\t510\t7\n"
	if inner, outer, ok := childOf(500, status); inner != 7 || outer != 510 || !ok {
		t.Errorf("childOf = %d, %d, %v, want 7, 510, true", inner, outer, ok)
	}
	if _, _, ok := childOf(1, status); ok {
		t.Error("the child of another process is taken for one's own")
	}
}

func TestRemoveTreeTakesChildrenFirst(t *testing.T) {
	root := filepath.Join(t.TempDir(), "group")
	if err := os.MkdirAll(filepath.Join(root, "pods", "one"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := removeTree(root); err != nil {
		t.Fatal(err)
	}
	if err := removeTree(root); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("the group is still there: %v", err)
	}
}

func TestParentIsTheLowestThatExists(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		dir:                  dir,
		dir + "/a/b":         dir,
		"/no-such-directory": "/",
	} {
		if got := parent(path); got != want {
			t.Errorf("parent(%s) = %s, want %s", path, got, want)
		}
	}
}
