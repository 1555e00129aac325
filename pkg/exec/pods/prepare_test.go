package pods

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
)

// TestCommandsStartWhereTheScriptsRun runs a command of a session on this machine, with other
// directories in place of those of a container.
func TestCommandsStartWhereTheScriptsRun(t *testing.T) {
	root := t.TempDir()
	work, home := filepath.Join(root, "work"), filepath.Join(root, "home")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{work, home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(work, filepath.Join(root, "cwd")); err != nil {
		t.Fatal(err)
	}
	write(task.NodeIPs, "10.0.0.1\n10.0.0.2\n")
	here := strings.NewReplacer(nodeIPs, filepath.Join(root, task.NodeIPs), "/proc/1/cwd", filepath.Join(root, "cwd"), task.OtherHomes, filepath.Join(root, "none")+" "+home)
	const command = `pwd; echo "$SKYPILOT_SETUP_NODE_IPS"; echo "$HOME ${K8S_CLI_VARIABLES-}$1"; exit 7`
	args := prepared([]string{"sh", "-c", command, "sh", "two words"})
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Args[2] = here.Replace(c.Args[2])
	c.Env = append(os.Environ(), task.VariablesEnv+"=A B")
	out, err := c.Output()
	if c.ProcessState.ExitCode() != 7 {
		t.Fatalf("the command ended with %v", err)
	}
	if want := work + "\n10.0.0.1\n10.0.0.2\n" + home + " two words\n"; string(out) != want {
		t.Errorf("the command printed %q, want %q", out, want)
	}
}

// A container may lack everything that the script looks for.
func TestCommandsStartWithoutTheFilesOfTheEntrypoint(t *testing.T) {
	args := prepared([]string{"pwd"})
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Args[2] = strings.ReplaceAll(c.Args[2], "/proc/1/cwd", "/nowhere")
	c.Dir = t.TempDir()
	if out, err := c.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != c.Dir {
		t.Errorf("%q, %v, want %s", out, err, c.Dir)
	}
}
