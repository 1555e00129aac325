package objects

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

const groupAddresses = "10.0.0.7 trainer-0.rlhf\n10.0.0.9 replay-0.rlhf\n"

// member returns the command of a container of a job group whose pod has these addresses. Its waits
// are short.
func memberOf(t *testing.T, path, addresses, run string) (c *exec.Cmd, dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"setup": "", "run": run, groupHostsFile: addresses, "hosts": hosts} {
		must.Write(t, filepath.Join(dir, name), text)
	}
	text := strings.NewReplacer(task.ScriptDir, dir, hostsFile, filepath.Join(dir, "hosts"), "/dev/termination-log", filepath.Join(dir, "ended"),
		"left="+peersTimeout, "left=3", "k8s_cli_pause 1", "k8s_cli_pause 0", "k8s_cli_pause "+hostsInterval, "k8s_cli_pause 0.05").
		Replace(entrypoint(&task.Record{Submit: task.Submit{JobGroup: &task.JobGroup{}}}, nil))
	c = exec.CommandContext(t.Context(), "/bin/sh", "-c", startIn(path), text, "")
	c.Dir, c.Env = t.TempDir(), []string{"PATH=" + path, "HOME=" + t.TempDir(), "DIR=" + dir}
	return c, dir
}

// The names of the job group are in /etc/hosts before a script begins, behind those of Kubernetes,
// and follow later changes.
func TestNamesOfAJobGroup(t *testing.T) {
	for shell, path := range shells(t) {
		c, dir := memberOf(t, path, groupAddresses, `cat "$DIR/hosts"; echo ready; until read -r line <"$DIR/go"; do sleep 0.01; done`)
		stdout, err := c.StdoutPipe()
		must.Succeed(t, err)
		must.Succeed(t, c.Start())
		out, text := bufio.NewScanner(stdout), ""
		for out.Scan() && out.Text() != "ready" {
			text += out.Text() + "\n"
		}
		if want := hosts + groupAddresses; text != want {
			t.Errorf("%s: %q, want %q", shell, text, want)
		}
		moved := strings.ReplaceAll(groupAddresses, "10.0.0.9", "10.0.0.11")
		must.Write(t, filepath.Join(dir, groupHostsFile), moved)
		testkit.Eventually(t, 20*time.Second, shell+": names that have moved", func() (string, bool) {
			got, _ := os.ReadFile(filepath.Join(dir, "hosts"))
			return string(got), string(got) == hosts+moved
		})
		must.Write(t, filepath.Join(dir, "go"), "on\n")
		if err := c.Wait(); err != nil {
			t.Errorf("%s: %v", shell, err)
		}
	}
}

// A user that may not write /etc/hosts learns where the addresses are.
func TestAMemberOfAJobGroupWithoutTheRightToWrite(t *testing.T) {
	c, dir := memberOf(t, os.Getenv("PATH"), groupAddresses, "echo run")
	if err := os.Remove(filepath.Join(dir, "hosts")); err != nil { // root may write any file that exists
		t.Fatal(err)
	}
	var errOut bytes.Buffer
	c.Stderr = &errOut
	out, err := c.Output()
	if err != nil || string(out) != "run\n" || !strings.Contains(errOut.String(), "may not write") {
		t.Errorf("%q, %v, %s", out, err, errOut.String())
	}
}
