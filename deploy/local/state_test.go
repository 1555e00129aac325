//go:build linux

package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s-cli/deploy/local/layout"
)

func TestClaimRefusesWhatIsNotACluster(t *testing.T) {
	l := layout.Layout{Dir: t.TempDir(), Nodes: layout.Kubelet}
	if err := claim(l); err != nil {
		t.Fatalf("an empty directory: %v", err)
	}
	if err := os.Mkdir(l.Path("bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := claim(l); err == nil || !strings.Contains(err.Error(), "belongs to no cluster") {
		t.Errorf("somebody's bin: %v", err)
	}
}

func TestClaimRefusesAnotherKindOfCluster(t *testing.T) {
	l := layout.Layout{Dir: t.TempDir(), Nodes: layout.Kubelet}
	if err := (settings{Layout: l}).store(); err != nil {
		t.Fatal(err)
	}
	if err := claim(l); err != nil {
		t.Errorf("the same again: %v", err)
	}
	l.Nodes = layout.Kwok
	if err := claim(l); err == nil || !strings.Contains(err.Error(), "take it down first") {
		t.Errorf("with other nodes: %v", err)
	}
}

func TestForgetLeavesWhatIsNotItsOwn(t *testing.T) {
	l := layout.Layout{Dir: t.TempDir()}
	if err := (settings{Layout: l}).store(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"etcd", "log", "test"} {
		if err := os.Mkdir(l.Path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(forget(l), forget(l)); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(l.Path("*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 2 || filepath.Base(left[0]) != "log" || filepath.Base(left[1]) != "test" {
		t.Errorf("left: %v, want log and test", left)
	}
}

func TestResolveSeesThroughLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, link + "/not/yet", dir + "/not/yet"} {
		got, err := resolve(path)
		if want := strings.Replace(path, link, dir, 1); got != want || err != nil {
			t.Errorf("resolve(%s) = %s, %v, want %s", path, got, err, want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Setenv("NODES", "kwok")
	verb, c, err := parse([]string{"up", "--instance", "2"})
	if verb != "up" || c.layout.Instance != 2 || c.layout.Nodes != layout.Kwok || err != nil {
		t.Errorf("parse = %s, %+v, %v", verb, c.layout, err)
	}
	if _, c, _ := parse([]string{"up", "--nodes=kubelet"}); c.layout.Nodes != layout.Kubelet {
		t.Error("the variable beats the flag")
	}
	if _, _, err := parse([]string{"sideways"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("an unknown verb: %v", err)
	}
}

// Without a number, a command uses the instance of the cluster in its directory.
func TestInstanceOfTheDirectory(t *testing.T) {
	dir := t.TempDir()
	l := layout.Layout{Dir: dir, Nodes: layout.Kubelet, Instance: 3}
	if err := (settings{Layout: l}).store(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		variable string
		args     []string
		want     int
	}{
		{"", []string{"up", "--dir", t.TempDir()}, 0},
		{"", []string{"up", "--dir", dir}, 3},
		{"4", []string{"up", "--dir", dir}, 4},
		{"4", []string{"up", "--dir", dir, "--instance", "5"}, 5},
	} {
		t.Setenv("INSTANCE", tt.variable)
		if _, c, err := parse(tt.args); err != nil || c.layout.Instance != tt.want {
			t.Errorf("INSTANCE=%s %v: instance %d, %v, want %d", tt.variable, tt.args[2:], c.layout.Instance, err, tt.want)
		}
	}
	for _, wrong := range []string{"one", "-1", "16"} {
		t.Setenv("INSTANCE", wrong)
		if _, _, err := parse([]string{"up"}); err == nil || !strings.Contains(err.Error(), "0 to 15") {
			t.Errorf("INSTANCE=%s: %v", wrong, err)
		}
	}
}

func TestTakenPortsNameTheClusterAndTheCommand(t *testing.T) {
	other := layout.Layout{Dir: t.TempDir(), Nodes: layout.Kubelet}
	if err := (settings{Layout: other}).store(); err != nil {
		t.Fatal(err)
	}
	running := [][]string{{"sh"}, {supervisor, "supervise", other.Settings()}}
	own := layout.Layout{Dir: t.TempDir(), Nodes: layout.Kubelet}
	want := "the cluster in " + other.Dir + " uses the ports of instance 0; choose another instance: add INSTANCE=1 to the command, as in make run INSTANCE=1"
	if err := heldByAnother(own, running); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if err := heldByAnother(other, running); err != nil {
		t.Errorf("the cluster itself: %v", err)
	}
	own.Instance = 2
	if err := heldByAnother(own, running); err != nil {
		t.Errorf("another instance: %v", err)
	}
}
