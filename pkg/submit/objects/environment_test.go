package objects

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s-cli/test/testkit/must"
)

// showVariables prints the environment that a program of the script gets.
const showVariables = "cat /proc/self/environ; echo"

// variablesOf returns the variables in the output of showVariables, one map for each script.
func variablesOf(t *testing.T, out []byte) (scripts []map[string]string) {
	t.Helper()
	for _, text := range bytes.Split(bytes.TrimSuffix(out, []byte("\x00\n")), []byte("\x00\n")) {
		all := map[string]string{}
		for v := range strings.SplitSeq(string(text), "\x00") {
			name, value, _ := strings.Cut(v, "=")
			all[name] = value
		}
		scripts = append(scripts, all)
	}
	return scripts
}

// setVariables sets the variables of a task in the environment of its container.
func setVariables(c *exec.Cmd, values map[string]string) {
	names := slices.Sorted(maps.Keys(values))
	c.Env = append(c.Env, variablesEnv+"="+strings.Join(names, " "))
	for _, name := range names {
		c.Env = append(c.Env, name+"="+values[name])
	}
}

// The variables of a task arrive in both scripts byte for byte, and nothing else does: no variable of
// the entrypoint, and no value of a start-up file for a variable of the task.
func TestVariablesArriveAsTheyAre(t *testing.T) {
	values := map[string]string{
		"EMPTY": "", "SPACES": "  a  b ", "LINES_": "a\nb\n\n", "QUOTES": `'"` + "`", "DOLLAR": "$HOME $(id) ${X} $$", "BACKSLASH": `a\nb\\`,
		"UTF8": "héllo €", "BYTES": "\xff\x01\x7f", "EQUALS": "a=b=c", "STAR": "*", "TILDE": "~", "LARGE": strings.Repeat("x", 100_000), "DASH": "-n",
		"PS4": "+ ", "TMOUT": "7", "CDPATH": "/usr", "MAIL": "m", "OPTARG": "o", "REPLY": "r", "ENV": "/none", "TERM_": "t", "LANG": "C.UTF-8",
		"HISTFILE": "/none", "COLUMNS": "17", "LINES": "3", "PROMPT_COMMAND": "echo no", "http_proxy": "http://proxy:1", "FROM_RC": "of the task", "BASH_ENV_": "x",
		"GREP_COLOR": "1", "FUNCNAME_": "f", "K8S_CLI_API_URL": "http://server", "K8S_CLI_PAUSE": "p",
	}
	for word := range strings.FieldsSeq("dir begin ending code pid from to name left rank why again own last known write place script query size path host port base line text seed rest after pause missing packed status domain home variables process") {
		values[word] = "value of " + word
	}
	for shell, path := range shells(t) {
		c := containerOf(t, path, showVariables, showVariables, "")
		rc := "case $- in *i*) ;; *) return;; esac\nexport FROM_RC=rc ONLY_RC=rc PS1=rc\ndir=rc\n"
		must.Write(t, filepath.Join(c.Dir, "home", ".bashrc"), rc)
		setVariables(c, values)
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v", shell, err)
		}
		scripts := variablesOf(t, out)
		if len(scripts) != 2 {
			t.Fatalf("%s: %d scripts", shell, len(scripts))
		}
		for i, got := range scripts {
			for name, want := range values {
				if got[name] != want {
					t.Errorf("%s, script %d: %s is %.80q, want %.80q", shell, i, name, got[name], want)
				}
				delete(got, name)
			}
			if shell == "bash" && got["ONLY_RC"] != "rc" {
				t.Errorf("script %d: the start-up file was not read", i)
			}
			for _, name := range []string{"PATH", "HOME", "PWD", "OLDPWD", "SHLVL", "_", "ONLY_RC"} { // of the image, the shell and the start-up file
				delete(got, name)
			}
			if len(got) > 0 {
				t.Errorf("%s, script %d: more variables: %q", shell, i, got)
			}
		}
	}
}

// What setup appends to ~/.bashrc reaches run, whatever line makes the file return in shells that are
// not interactive.
func TestStartUpFilesThatAreForInteractiveShells(t *testing.T) {
	for _, guard := range []string{
		"case $- in\n    *i*) ;;\n      *) return;;\nesac", `[[ $- != *i* ]] && return`, `[[ $- == *i* ]] || return`, `[[ "${-}" == *i* ]] || return`,
		`if [[ "$-" != *i* ]]; then return; fi`, `[ -z "$PS1" ] && return`, `[ "${-#*i}" != "$-" ] || return`,
	} {
		path, ok := shells(t)["bash"]
		if !ok {
			t.Skip("this machine has no bash")
		}
		c := containerOf(t, path, "cat >~/.bashrc <<'END'\n"+guard+"\nEND\necho 'tool() { echo tool of $1; }; export TOOL=/opt' >>~/.bashrc", `tool "$TOOL"; echo "$-" | grep -c i`, "")
		if out, _ := c.CombinedOutput(); string(out) != "tool of /opt\n0\n" {
			t.Errorf("%s: %q", guard, out)
		}
	}
}

// Both scripts start in ~/sky_workdir. A user who may not write to the home directory gets one, which
// keeps the start-up file of the old one; a task that sets HOME keeps it.
func TestScriptsStartInAHome(t *testing.T) {
	const show = `pwd; echo "$HOME"; : >here; ls -A`
	for shell, path := range shells(t) {
		c := containerOf(t, path, "", strings.ReplaceAll(show, "ls -A", "echo *"), "")
		home := filepath.Join(c.Dir, "home")
		if out, err := c.CombinedOutput(); err != nil || string(out) != home+"/sky_workdir\n"+home+"\nhere\n" {
			t.Errorf("%s: %q, %v", shell, out, err)
		}
		for _, without := range []string{"HOME=/proc", "HOME=/proc/none"} {
			c := containerOf(t, path, "", `pwd; echo "$HOME"`, "")
			c.Env = []string{"PATH=" + path, without}
			out, err := c.CombinedOutput()
			dir, given, _ := strings.Cut(string(out), "/sky_workdir\n")
			if err != nil || given != dir+"\n" || !strings.HasSuffix(dir, "-files/home") {
				t.Errorf("%s with %s: %q, %v", shell, without, out, err)
			}
		}
		c = containerOf(t, path, "", `echo "$HOME"`, "")
		c.Env = []string{"PATH=" + path}
		setVariables(c, map[string]string{"HOME": "/proc"})
		if out, err := c.CombinedOutput(); err != nil || string(out) != "/proc\n" {
			t.Errorf("%s with a HOME of the task: %q, %v", shell, out, err)
		}
	}
}

// A task whose PATH is wrong starts all the same.
func TestAWrongPath(t *testing.T) {
	for shell, path := range shells(t) {
		c := containerOf(t, path, "echo setup", "echo run", "")
		c.Env[0] = "PATH=/none"
		if out, err := c.CombinedOutput(); err != nil || string(out) != "setup\nrun\n" {
			t.Errorf("%s: %q, %v", shell, out, err)
		}
	}
}

// In an image without sudo, sudo runs the command in scripts of root.
func TestSudoOfRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this test runs as root")
	}
	for shell, path := range shells(t) {
		if _, err := exec.LookPath("sudo"); err == nil && shell == "bash" {
			continue
		}
		c := containerOf(t, path, "sudo echo setup", "sudo -E -H echo run; sudo -u root -- echo user; sudo A=1 sh -c 'echo $A'", "")
		for _, tool := range []string{"id", "env"} {
			if found, err := exec.LookPath(tool); err == nil && shell != "bash" {
				_ = os.Symlink(found, filepath.Join(path, tool))
			}
		}
		if out, err := c.CombinedOutput(); err != nil || string(out) != "setup\nrun\nuser\n1\n" {
			t.Errorf("%s: %q, %v", shell, out, err)
		}
		other := containerOf(t, path, "", "sudo -u nobody echo as nobody", "")
		if out, err := other.CombinedOutput(); err == nil || !strings.Contains(string(out), "works for root only") {
			t.Errorf("%s, for another user: %q, %v", shell, out, err)
		}
	}
}
