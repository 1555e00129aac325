package objects

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// packed returns an archive of files, and its SHA-256.
func packed(t *testing.T, files map[string]string) (archive []byte, sum string) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, content := range files {
		must.Succeed(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg}))
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	must.Succeed(t, w.Close())
	must.Succeed(t, z.Close())
	of := sha256.Sum256(b.Bytes())
	return b.Bytes(), hex.EncodeToString(of[:])
}

// imageWith returns the search path of an image that has these programs, or "" if this machine
// lacks one of them.
func imageWith(t *testing.T, programs ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range append([]string{"sh", "sleep", "cat", "mkdir", "rm"}, programs...) {
		found, err := exec.LookPath(name)
		if err != nil {
			return ""
		}
		if name == "python3" { // the python3 in the search path may be a wrapper script
			out, err := exec.CommandContext(t.Context(), found, "-c", "import sys; print(sys.executable)").Output()
			if err != nil {
				return ""
			}
			found = strings.TrimSpace(string(out))
		}
		must.Succeed(t, os.Symlink(found, filepath.Join(dir, name)))
	}
	return dir
}

// fetched runs the fetch script with the search path of an image against a server with this
// handler. fetched returns the directory of the unpacked files, the termination message and
// the exit code.
func fetched(t *testing.T, path string, handler http.HandlerFunc, sums ...string) (dir, said string, code int) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	dir = t.TempDir()
	script := strings.NewReplacer(task.FilesDir, dir, "sleep $pause", "echo $pause >>'"+dir+"/pauses'", "/dev/termination-log", filepath.Join(dir, "last-word")).Replace(fetchFiles)
	c := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", startIn(path), script, server.URL + "/base", "abc12345"}, sums...)...)
	c.Env = []string{"PATH=" + path, "FILES_TOKEN=secret", "http_proxy=http://127.0.0.1:1", "HOSTNAME=" + os.Getenv("HOSTNAME")}
	var errOut bytes.Buffer
	c.Stderr = &errOut
	code = codeOf(t, c.Run())
	word, _ := os.ReadFile(filepath.Join(dir, "last-word"))
	if code != 0 && (len(word) == 0 || !strings.Contains(errOut.String(), string(word))) {
		t.Errorf("exit code %d, last word %q; %s", code, word, errOut.String())
	}
	return dir, string(word), code
}

func codeOf(t *testing.T, err error) int {
	t.Helper()
	return code(t, err)
}

// The fetch script works with each set of programs that can download and unpack.
func TestTheFetcher(t *testing.T) {
	archive, sum := packed(t, map[string]string{"a": "one", "b": strings.Repeat("two", 1<<20)})
	images := map[string]string{
		"curl and tar":    imageWith(t, "curl", "tar", "gzip", "grep", "sha256sum"),
		"wget and tar":    imageWith(t, "wget", "tar", "gzip", "grep"),
		"Python alone":    imageWith(t, "python3"),
		"bash and tar":    imageWith(t, "bash", "tar", "gzip", "grep", "sha256sum"),
		"curl and Python": imageWith(t, "curl", "python3"),
	}
	tried := 0
	for name, path := range images {
		if path == "" {
			continue
		}
		tried++
		t.Run(name, func(t *testing.T) {
			asked := 0
			dir, said, code := fetched(t, path, func(w http.ResponseWriter, r *http.Request) {
				asked++
				if r.URL.Path != "/base/tasks/abc12345/files/"+sum || r.Header.Get("Authorization") != "Bearer secret" {
					w.WriteHeader(http.StatusForbidden)
					return
				}
				if asked < 3 {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				_, _ = w.Write(archive)
			}, sum)
			if got, err := os.ReadFile(filepath.Join(dir, sum, "a")); code != 0 || err != nil || string(got) != "one" || asked != 3 {
				t.Errorf("exit code %d, %s, asked %d times, %q, %v", code, said, asked, got, err)
			}
		})
	}
	if tried < 2 {
		t.Errorf("this machine has programs for %d images only", tried)
	}
}

// A busy server answers with Retry-After. Pods retry after that time, each at another time,
// and as often as necessary.
func TestFetchersAreRestartedWhenNeeded(t *testing.T) {
	archive, sum := packed(t, map[string]string{"a": "one"})
	for name, path := range map[string]string{
		"curl": imageWith(t, "curl", "tar", "gzip", "grep"), "Python": imageWith(t, "python3"), "bash": imageWith(t, "bash", "tar", "gzip", "grep"),
	} {
		if path == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			different, refusals := map[string]bool{}, 8
			if testing.Short() {
				refusals = 2
			}
			for _, pod := range []string{"train-0-x2v8c", "train-1-99kqz", "train-2-b7s4d"} {
				t.Setenv("HOSTNAME", pod)
				asked := 0
				dir, said, code := fetched(t, path, func(w http.ResponseWriter, _ *http.Request) {
					if asked++; asked <= refusals {
						w.Header().Set("Retry-After", "20")
						w.WriteHeader(http.StatusTooManyRequests)
						return
					}
					_, _ = w.Write(archive)
				}, sum)
				raw, err := os.ReadFile(filepath.Join(dir, "pauses"))
				if err != nil || code != 0 {
					t.Fatalf("exit code %d, %s, %v", code, said, err)
				}
				pauses := strings.Fields(string(raw))
				for _, pause := range pauses {
					if n, err := strconv.Atoi(pause); err != nil || n < 20 || n > 40 {
						t.Errorf("it waits %q s, and shall wait 20 to 40", pause)
					}
				}
				if len(pauses) != refusals {
					t.Errorf("it waited %d times", len(pauses))
				}
				different[string(raw)] = true
			}
			if len(different) != 3 {
				t.Errorf("three pods wait alike: %q", slices.Collect(maps.Keys(different)))
			}
		})
	}
}

func TestAFetcherThatGivesUp(t *testing.T) {
	path := imageWith(t, "bash", "tar", "gzip", "grep", "sha256sum")
	if path == "" {
		t.Skip("this machine has no bash")
	}
	_, sum := packed(t, map[string]string{"a": "one"})
	for name, tt := range map[string]struct {
		path   string
		answer func(w http.ResponseWriter)
		says   string
	}{
		"refused":               {path, func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }, "404 Not Found"},
		"no way to get files":   {imageWith(t, "tar"), nil, "install curl, wget or python3"},
		"no way to unpack them": {imageWith(t, "bash"), nil, "install tar and gzip, or python3"},
	} {
		t.Run(name, func(t *testing.T) {
			_, said, code := fetched(t, tt.path, func(w http.ResponseWriter, _ *http.Request) { tt.answer(w) }, sum)
			if code != 1 || !strings.Contains(said, tt.says) {
				t.Errorf("exit code %d, it says %q, want %q", code, said, tt.says)
			}
		})
	}
	broken := []byte("no archive")
	of := sha256.Sum256(broken)
	if _, said, code := fetched(t, path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(broken) }, hex.EncodeToString(of[:])); code != 1 || !strings.Contains(said, "must be a tar.gz") {
		t.Errorf("no archive: exit code %d, it says %q", code, said)
	}
}

// The unpacked files are at their targets before the scripts of the task begin.
func TestFilesAreInTheirPlaces(t *testing.T) {
	for shell, path := range shells(t) {
		for _, tool := range []string{"mkdir", "cp", "ls"} {
			found, err := exec.LookPath(tool)
			must.Succeed(t, err)
			if shell == "sh" {
				_ = os.Symlink(found, filepath.Join(path, tool))
			}
		}
		t.Run(shell, func(t *testing.T) {
			target := filepath.Join(t.TempDir(), "a b")
			c := containerOf(t, path, "pwd; ls -A", `cat sub/b one/two/c; readlink sub/link; "./sub/b"; cat /no/such/file; cat "$TARGET/deep/f"`, "~/sky_workdir",
				"1", "", "single", target+"/deep/f", "tree", "~/sky_workdir", "single", "~/sky_workdir/one/two/c")
			home := filepath.Join(c.Dir, "home")
			files := entrypointDir(c) + "-files"
			for name, content := range map[string]string{"tree/sub/b": "echo b\n", "tree/.hidden": "", "single/" + task.SingleFile: "c\n"} {
				must.Succeed(t, os.MkdirAll(filepath.Dir(filepath.Join(files, name)), 0o755))
				must.Succeed(t, os.WriteFile(filepath.Join(files, name), []byte(content), 0o755))
			}
			must.Succeed(t, os.Symlink("b", filepath.Join(files, "tree/sub/link")))
			c.Env = append(c.Env, "TARGET="+target, "PATH="+path+":/usr/bin:/bin")
			var out, errOut bytes.Buffer
			c.Stdout, c.Stderr = &out, &errOut
			err := c.Run()
			want := home + "/sky_workdir\n.hidden\none\nsub\necho b\nc\nb\nb\nc\n"
			if code(t, err) != 0 || out.String() != want {
				t.Errorf("%v, %q, want %q; %s", err, out.String(), want, errOut.String())
			}
		})
	}
}

// A user that the image does not know has no home directory, or root's.
func TestFilesOfAUserWithoutAHome(t *testing.T) {
	c := containerOf(t, os.Getenv("PATH"), "pwd", `echo "$HOME"; cat f; ls -d ~/sky_workdir`, "~/sky_workdir", "1", "", "tree", "~/sky_workdir")
	files := entrypointDir(c) + "-files"
	must.Succeed(t, os.MkdirAll(filepath.Join(files, "tree"), 0o755))
	must.Write(t, filepath.Join(files, "tree", "f"), "f\n")
	c.Env = append(c.Env, "HOME=/proc/none")
	out, err := c.Output()
	home := files + "/home"
	if want := home + "/sky_workdir\n" + home + "\nf\n" + home + "/sky_workdir\n"; err != nil || string(out) != want {
		t.Errorf("%v, %q, want %q", err, out, want)
	}
}

// entrypointDir returns the directory from which the entrypoint of a container reads its
// scripts.
func entrypointDir(c *exec.Cmd) string {
	_, rest, _ := strings.Cut(c.Args[3], "script /")
	return "/" + rest[:strings.Index(rest, "/setup")]
}
