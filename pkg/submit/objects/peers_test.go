package objects

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

const hosts = "127.0.0.1\tlocalhost\n10.0.0.8\tnode-1.train-a.default.svc.house.local\tnode-1\n"

// node returns the command of a container of the second of three nodes whose pod has these
// addresses. The image of the container has the tools of the search path, and its waits are
// short.
func node(t *testing.T, path, addresses, run string) (c *exec.Cmd, dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"setup": `echo "$SKYPILOT_SETUP_NODE_IPS"`, "run": run, peersFile: addresses, "hosts": hosts} {
		must.Write(t, filepath.Join(dir, name), text)
	}
	text := strings.NewReplacer(task.ScriptDir, dir, hostsFile, filepath.Join(dir, "hosts"), "/dev/termination-log", filepath.Join(dir, "ended"),
		"left="+peersTimeout, "left=3", "left="+nameTimeout, "left=3", "left="+namesTimeout, "left=2", "k8s_cli_pause 1", "k8s_cli_pause 0").
		Replace(entrypoint(&task.Record{Submit: task.Submit{Task: task.Spec{NumNodes: 3}}}, []string{"3", "train-a"}))
	c = exec.CommandContext(t.Context(), "/bin/sh", "-c", startIn(path), text, "", "3", "train-a")
	c.Dir, c.Env = t.TempDir(), []string{"PATH=" + path, "HOME=" + t.TempDir(), "NODE_RANK=1"}
	return c, dir
}

// image returns the search path of an image with a shell and this tool in place of getent and
// nslookup.
func image(t *testing.T, tool, script string) string {
	t.Helper()
	dir := shells(t)["sh"]
	if tool != "" {
		if err := os.WriteFile(filepath.Join(dir, tool), []byte("#!/bin/sh\n"+script), 0o700); err != nil { //nolint:gosec // it is to be run
			t.Fatal(err)
		}
	}
	return dir
}

const threeAddresses = "10.0.0.7\n10.0.0.8\n10.0.0.9"

func TestNodesKnowEachOther(t *testing.T) {
	const (
		full    = "train-a.default.svc.house.local"
		unknown = "k8s-cli: the cluster's DNS does not resolve node-1.train-a; the addresses of all nodes are in SKYPILOT_NODE_IPS\n"
	)
	for _, tt := range []struct {
		name, tool, script string
		says               string
	}{
		{"nothing to ask with", "", "", ""},
		{"getent", "getent", `[ "$1" = hosts ] && case $2 in node-[012].` + full + `) echo "10.0.0.7 $2" ;; *) exit 2 ;; esac`, ""},
		{"getent, and one has ended", "getent", `[ "$2" != node-2.` + full + ` ]`, ""},
		{"getent, and nothing has a name", "getent", "exit 2", unknown},
		{"nslookup of busybox", "nslookup", `printf 'Server:\t10.0.0.1\nAddress:\t10.0.0.1:53\n\nName:\t%s\nAddress: 10.0.0.7\n\n*** No answer\n' "$1"; exit 1`, ""},
		{"nslookup, and one has ended", "nslookup", `printf 'Server:\t10.0.0.1\n'; case $1 in node-2.*) echo "** server can't find $1: NXDOMAIN" ;; *) echo "Name: $1" ;; esac`, ""},
		{"nslookup, and nothing has a name", "nslookup", `echo "** server can't find $1: NXDOMAIN"; exit 1`, unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := node(t, image(t, tt.tool, tt.script), threeAddresses, `echo "$SKYPILOT_NODE_IPS" | while read -r a; do echo "run $a"; done`)
			var errOut bytes.Buffer
			c.Stderr = &errOut
			out, err := c.Output()
			if want := threeAddresses + "\nrun 10.0.0.7\nrun 10.0.0.8\nrun 10.0.0.9\n"; err != nil || string(out) != want {
				t.Errorf("%q, %v, want %q; %s", out, err, want, errOut.String())
			}
			if errOut.String() != tt.says {
				t.Errorf("it says %q, want %q", errOut.String(), tt.says)
			}
		})
	}
}

func TestNodesWithoutAddressesGiveUp(t *testing.T) {
	for says, command := range map[string]func(t *testing.T, path, addresses, run string) (*exec.Cmd, string){
		"some of the 3 nodes have no address": node, "some nodes of the job group have no address": memberOf,
	} {
		for shell, path := range shells(t) {
			c, dir := command(t, path, "", "echo run")
			var errOut bytes.Buffer
			c.Stderr = &errOut
			out, err := c.Output()
			why, _ := os.ReadFile(filepath.Join(dir, "ended"))
			if code(t, err) != 1 || len(out) > 0 || !strings.Contains(errOut.String(), says) || string(why) != errOut.String() {
				t.Errorf("%s: %q, %v, %q, %q", shell, out, err, errOut.String(), why)
			}
		}
	}
}

// A node that waits for other nodes ends after SIGTERM.
func TestANodeThatWaitsMayBeStopped(t *testing.T) {
	for shell, path := range shells(t) {
		c, _ := node(t, path, "", "echo run")
		c.Args[3] = strings.Replace(c.Args[3], "k8s_cli_pause 0\n", "kill -TERM $$\n", 1)
		if out, err := c.Output(); code(t, err) != 143 || len(out) > 0 {
			t.Errorf("%s: %q, %v", shell, out, err)
		}
	}
}
