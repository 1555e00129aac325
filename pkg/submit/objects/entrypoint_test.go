package objects

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// shells returns the search paths of two images: one with bash, one without.
func shells(t *testing.T) map[string]string {
	t.Helper()
	paths := map[string]string{}
	if _, err := exec.LookPath("bash"); err == nil {
		paths["bash"] = os.Getenv("PATH")
	}
	plain := t.TempDir()
	for _, tool := range []string{"sh", "sleep", "cat"} {
		found, err := exec.LookPath(tool)
		must.Succeed(t, err)
		must.Succeed(t, os.Symlink(found, filepath.Join(plain, tool)))
	}
	paths["sh"] = plain
	return paths
}

// containerOf returns the command of a container with these scripts; args are the arguments of
// the entrypoint after the working directory.
func containerOf(t *testing.T, path, setup, run, workdir string, args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"setup": setup, "run": run} {
		must.Write(t, filepath.Join(dir, name), text)
	}
	r := &task.Record{Submit: task.Submit{Task: task.Spec{Setup: setup, Run: run, Workdir: workdir}}}
	c := exec.CommandContext(t.Context(), "/bin/sh", "-c", startIn(path), strings.ReplaceAll(entrypoint(r, args), task.ScriptDir, dir), workdir)
	c.Args = append(c.Args, args...)
	c.Dir = t.TempDir()
	home := filepath.Join(c.Dir, "home")
	must.Succeed(t, os.MkdirAll(filepath.Join(home, "inner"), 0o700))
	c.Env = []string{"PATH=" + path, "HOME=" + home}
	return c
}

// startIn returns the command start for an image that has bash only if its search path has it.
func startIn(path string) string {
	for dir := range strings.SplitSeq(path, ":") {
		if _, err := os.Stat(filepath.Join(dir, "bash")); err == nil {
			return start
		}
	}
	return strings.ReplaceAll(start, "/bin/bash", "/none/bash")
}

func code(t *testing.T, err error) int {
	t.Helper()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	must.Succeed(t, err)
	return 0
}

func TestTheLauncher(t *testing.T) {
	const home = "$HOME"
	for _, tt := range []struct {
		name, setup, run, workdir string
		code                      int
		out                       string // "home" stands for the home directory
	}{
		{"run runs", "", "echo run", "", 0, "run\n"},
		{"setup comes first", "echo setup", "echo run", "", 0, "setup\nrun\n"},
		{"setup alone", "echo setup", "", "", 0, "setup\n"},
		{"an exit of setup does not skip run", "echo setup; exit 0; echo more", "echo run", "", 0, "setup\nrun\n"},
		{"run does not run when setup failed", "echo setup; exit 7", "echo run", "", 7, "setup\n"},
		{"a syntax error of setup is a failure", "if", "echo run", "", 2, ""},
		{"the exit code is that of run", "", "echo run; exit 41", "", 41, "run\n"},
		{"a script killed by a signal", "", "kill -9 $$", "", 137, ""},
		{"what setup sets does not reach run", "A=1; export A; cd /", "echo \"${A:-none}\"", "", 0, "none\n"},
		{"a run without a last newline", "", "echo run", "", 0, "run\n"},
		{"a failure in the midst is the script's to handle", "", "false\necho run", "", 0, "run\n"},
		{"a variable that is not set is no error", "", "echo \"x$NOTHING\"", "", 0, "x\n"},
		{"both start in the working directory", "pwd", "pwd", "/", 0, "/\n/\n"},
		{"the home directory", "", "pwd", "~", 0, home + "\n"},
		{"a directory in it", "", "pwd", "~/inner", 0, home + "/inner\n"},
		{"a tilde elsewhere means nothing", "", "pwd", "home/~", -1, ""},
		{"a directory that is not there", "echo setup", "echo run", "/no/such/directory", -1, ""},
		{"quotes and dollars are nothing special", "", `echo '$(x)' "a b" \$HOME`, "", 0, "$(x) a b $HOME\n"},
	} {
		for shell, path := range shells(t) {
			t.Run(tt.name+" in "+shell, func(t *testing.T) {
				c := containerOf(t, path, tt.setup, tt.run, tt.workdir)
				var out, errOut bytes.Buffer
				c.Stdout, c.Stderr = &out, &errOut
				got := code(t, c.Run())
				if got != tt.code && (tt.code >= 0 || got == 0) {
					t.Errorf("exit code %d, want %d; %s", got, tt.code, errOut.String())
				}
				want := strings.ReplaceAll(tt.out, home, filepath.Join(c.Dir, "home"))
				if strings.Contains(tt.name, "dollars") {
					want = tt.out
				}
				if out.String() != want {
					t.Errorf("output %q, want %q; %s", out.String(), want, errOut.String())
				}
				if tt.code < 0 && errOut.Len() == 0 {
					t.Error("nothing says why")
				}
			})
		}
	}
}

func TestTheShellIsBashWhereThereIsOne(t *testing.T) {
	for shell, path := range shells(t) {
		c := containerOf(t, path, "", `if [ -n "${BASH_VERSION:-}" ]; then echo bash; else echo sh; fi`, "")
		out, err := c.Output()
		if err != nil || string(out) != shell+"\n" {
			t.Errorf("%q, %v, want %s", out, err, shell)
		}
	}
}

// In bash, ~/.bashrc takes effect for both scripts, even if it has the line with which Debian
// and Ubuntu return from it in shells that are not interactive.
func TestBeginningsOfScripts(t *testing.T) {
	const show = `echo "$FROM_RC, $0, $#, ${BASH_VERSION:+${PS1-unset}}, $PWD"`
	for shell, path := range shells(t) {
		c := containerOf(t, path, "echo 'export FROM_RC=again' >> ~/.bashrc\n"+show+"\nexit 0", show, "~/inner")
		home := filepath.Join(c.Dir, "home")
		rc := "[ -z \"$PS1\" ] && return\nPS1='${debian_chroot:+($debian_chroot)}\\u@\\h:\\w\\$ '\nFROM_RC=rc\ncd /\n"
		must.Write(t, filepath.Join(home, ".bashrc"), rc)
		out, err := c.Output()
		must.Succeed(t, err)
		got := regexp.MustCompile(`/tmp/[^,]*/(setup|run)`).ReplaceAllString(string(out), "$1")
		want := fmt.Sprintf("rc, setup, 0, unset, %[1]s\nagain, run, 0, unset, %[1]s\n", filepath.Join(home, "inner"))
		if shell == "sh" {
			want = strings.NewReplacer("rc,", ",", "again,", ",", "unset", "").Replace(want)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", shell, got, want)
		}
	}
}

// A large script arrives completely, however the shell reads it.
func TestLargeScripts(t *testing.T) {
	script := strings.Repeat("x=$((x+1)) # $$ $(y)\n", 6000) + "echo $x\n"
	for shell, path := range shells(t) {
		c := containerOf(t, path, "x=0\n"+script, "x=1\n"+script, "")
		if out, err := c.Output(); err != nil || string(out) != "6000\n6001\n" {
			t.Errorf("%s: %q, %v", shell, out, err)
		}
	}
}

// terminated returns the output and the exit code of a container that receives SIGTERM once it
// has written "ready".
func terminated(t *testing.T, path, setup, run string) (string, int) {
	t.Helper()
	c := containerOf(t, path, setup, run, "")
	stdout, err := c.StdoutPipe()
	must.Succeed(t, err)
	must.Succeed(t, c.Start())
	out := bufio.NewReader(stdout)
	if line, err := out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	must.Succeed(t, c.Process.Signal(syscall.SIGTERM))
	rest, err := io.ReadAll(out)
	must.Succeed(t, err)
	return string(rest), code(t, c.Wait())
}

func TestASignalReachesTheScript(t *testing.T) {
	const patient = "echo ready; while :; do sleep 0.01; done\n"
	for shell, path := range shells(t) {
		t.Run(shell, func(t *testing.T) {
			out, code := terminated(t, path, "", "trap 'echo bye; exit 9' TERM\n"+patient)
			if out != "bye\n" || code != 9 {
				t.Errorf("%q, exit code %d, want that of the script", out, code)
			}
		})
		t.Run(shell+", during setup", func(t *testing.T) {
			out, code := terminated(t, path, "trap 'echo bye; exit 0' TERM\n"+patient, "echo run")
			if out != "bye\n" || code == 0 {
				t.Errorf("%q, exit code %d: run begins after the signal", out, code)
			}
		})
	}
}

// A script that a plain shell starts in the background would ignore SIGINT.
func TestAScriptMayBeInterrupted(t *testing.T) {
	for shell, path := range shells(t) {
		if shell != "bash" {
			continue // a shell without job control cannot avoid it
		}
		c := containerOf(t, path, "", "kill -INT $$; echo late", "")
		if out, err := c.Output(); code(t, err) != 130 || len(out) > 0 {
			t.Errorf("%q, %v", out, err)
		}
	}
}

// Nearly every Job and pod contains the entrypoint of a task with one node and without files.
func TestEntrypointHasOnlyThePartsOfTheTask(t *testing.T) {
	for _, tt := range []struct {
		spec  task.Spec
		args  []string
		parts []string
	}{
		{task.Spec{Workdir: "/src"}, nil, nil},
		{task.Spec{}, nil, []string{home}},
		{task.Spec{Workdir: "/src", Run: "sudo apt-get"}, nil, []string{sudo}},
		{task.Spec{Workdir: "/src", NumNodes: 2}, []string{"2", "train-a"}, []string{peers}},
		{task.Spec{Workdir: "/src"}, []string{"1", "", "sum", "/a"}, []string{copyFiles}},
		{task.Spec{Workdir: "~/src", NumNodes: 2}, []string{"2", "train-a", "sum", "/a"}, []string{home, copyFiles, peers}},
	} {
		text := entrypoint(&task.Record{Submit: task.Submit{Task: tt.spec}}, tt.args)
		for _, part := range []string{home, sudo, copyFiles, peers} {
			if strings.Contains(text, part) != slices.Contains(tt.parts, part) {
				t.Errorf("%+v: %s", tt.spec, text)
			}
		}
		if strings.Contains(text, " #") || strings.Contains(text, "\n#") {
			t.Errorf("%+v: a comment stands in every pod", tt.spec)
		}
	}
	if n := len(entrypoint(&task.Record{}, nil)); n > 3400 {
		t.Errorf("%d bytes for a plain task", n)
	}
}

// BenchmarkEntrypoint runs a task that prints a line, with a home as in Debian's images.
func BenchmarkEntrypoint(b *testing.B) {
	dir := b.TempDir()
	must.Write(b, filepath.Join(dir, "run"), "echo run\n")
	home := b.TempDir()
	must.Write(b, filepath.Join(home, ".bashrc"), "# nothing\n")
	r := &task.Record{Submit: task.Submit{Task: task.Spec{Run: "echo run\n"}}}
	script := strings.ReplaceAll(entrypoint(r, nil), task.ScriptDir, dir)
	for b.Loop() {
		must.Succeed(b, os.RemoveAll(filepath.Join(home, "sky_workdir")))
		c := exec.Command("/bin/sh", "-c", start, script, "")
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, variablesEnv + "=A B", "A=1", "B=2"}
		if out, err := c.CombinedOutput(); err != nil || string(out) != "run\n" {
			b.Fatalf("%v: %s", err, out)
		}
	}
}
