package objects

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/outputs"
	"k8s-cli/test/testkit/must"
)

// A sent is a request with which a node sent its outputs.
type sent struct {
	target, token, length string
	body                  []byte
}

// A sender is the container of a node with outputs.
type sender struct {
	*exec.Cmd
	home     string
	requests []sent
	out      bytes.Buffer
}

// senderOf returns a container in an image with these programs. code answers the requests: the HTTP
// status by the number of the request, from 1.
func senderOf(t *testing.T, path, run, paths string, code func(n int) int) *sender {
	t.Helper()
	s := &sender{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPut {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		s.requests = append(s.requests, sent{r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("Content-Length"), body})
		w.WriteHeader(code(len(s.requests)))
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, "run"), run)
	script := strings.NewReplacer(outputs.Dir, dir, task.ScriptDir, dir, "sleep $pause", "echo $pause >>'"+dir+"/pauses'").
		Replace(entrypoint(&task.Record{Submit: task.Submit{Task: task.Spec{Outputs: []string{"x"}, Workdir: "."}}}, nil))
	s.Cmd = exec.CommandContext(t.Context(), "/bin/sh", "-c", startIn(path), script, ".")
	s.Dir = t.TempDir()
	s.home = filepath.Join(s.Dir, "home")
	must.Succeed(t, os.Mkdir(s.home, 0o700))
	s.Env = []string{
		"PATH=" + path, "HOME=" + s.home, "http_proxy=http://127.0.0.1:1",
		outputPathsEnv + "=" + paths, outputURLEnv + "=" + server.URL + "/base/tasks/abc12345/outputs/2?pod=p", outputTokenEnv + "=secret", outputLimitEnv + "=100000",
		"seed=of-the-user", "outputs=of-the-user", "path=of-the-user",
	}
	s.Stdout, s.Stderr = &s.out, &s.out
	return s
}

func always(code int) func(int) int { return func(int) int { return code } }

// namesIn returns the names of the files in an archive with their content.
func namesIn(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatalf("%d bytes: %v", len(archive), err)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		must.Succeed(t, err)
		content, _ := io.ReadAll(r)
		if h.Typeflag != tar.TypeDir {
			files[h.Name] = string(content) + h.Linkname
		}
	}
}

// The entrypoint sends outputs with each set of programs that can pack and send.
func TestOutputsAreSent(t *testing.T) {
	images := map[string]string{
		"curl and tar":  imageWith(t, "curl", "tar", "gzip", "grep", "head", "wc", "env"),
		"wget and tar":  imageWith(t, "wget", "tar", "gzip", "grep", "head", "wc", "env"),
		"Python":        imageWith(t, "python3", "head", "wc", "env"),
		"bash and tar":  imageWith(t, "bash", "tar", "gzip", "grep", "head", "wc", "env"),
		"bash and curl": imageWith(t, "bash", "curl", "tar", "gzip", "grep", "head", "wc", "env"),
		"nc and tar":    imageWith(t, "nc", "tar", "gzip", "grep", "head", "wc", "env"),
	}
	tried := 0
	for name, path := range images {
		if path == "" {
			continue
		}
		tried++
		t.Run(name, func(t *testing.T) {
			s := senderOf(t, path, `mkdir "a dir"; echo one >"a dir/1"; echo two >~/two; echo dash >-dash; env; exit 7`, "a dir\nnone\n~/two\n-dash\n~/none", func(n int) int {
				if n < 3 {
					return http.StatusServiceUnavailable
				}
				return http.StatusOK
			})
			if got := code(t, s.Run()); got != 7 || len(s.requests) != 3 {
				t.Fatalf("exit code %d, %d requests\n%s", got, len(s.requests), s.out.String())
			}
			last := s.requests[2]
			if last.target != "/base/tasks/abc12345/outputs/2?pod=p&missing=1,4" || last.token != "Bearer secret" {
				t.Errorf("%s with %q", last.target, last.token)
			}
			want := map[string]string{"a dir/1": "one\n", strings.TrimPrefix(s.home, "/") + "/two": "two\n", "-dash": "dash\n"}
			for name, content := range namesIn(t, last.body) {
				if want[name] != content {
					t.Errorf("the archive has %s: %q", name, content)
				}
				delete(want, name)
			}
			if len(want) > 0 || strings.Contains(s.out.String(), "K8S_CLI") || strings.Count(s.out.String(), "=of-the-user\n") != 3 {
				t.Errorf("the archive lacks %v; the scripts say\n%s", want, s.out.String())
			}
		})
	}
	if tried < 3 {
		t.Errorf("this machine has programs for %d images only", tried)
	}
}

// A failure to send changes nothing about the exit code, and the log says why.
func TestOutputsThatAreNotSent(t *testing.T) {
	path := imageWith(t, "curl", "tar", "gzip", "grep", "head", "wc")
	if path == "" {
		t.Skip("this machine lacks curl")
	}
	for _, tt := range []struct {
		name, run, paths string
		code             int
		targets          []string // queries of the requests
		says             string
	}{
		{"refused", "echo x >x; exit 3", "x", http.StatusForbidden, []string{"?pod=p"}, "were not stored: curl: (22)"},
		{"too large", "head -c 200000 /dev/urandom >x; exit 3", "x", http.StatusRequestEntityTooLarge, []string{"?pod=p&failed=size"}, "larger than 100000 bytes"},
		{"none exist", "exit 3", "x\ny", http.StatusOK, []string{"?pod=p&missing=0,1"}, ""},
		{"unreadable", "mkdir x; mkfifo x/fifo; ln -s /none x/link; exit 3", "x", http.StatusOK, []string{"?pod=p"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := senderOf(t, path, tt.run, tt.paths, always(tt.code))
			if strings.Contains(tt.run, "mkfifo") {
				s.Env[0] = "PATH=" + os.Getenv("PATH")
			}
			if got := code(t, s.Run()); got != 3 || !strings.Contains(s.out.String(), tt.says) || tt.says == "" && s.out.Len() > 0 {
				t.Errorf("exit code %d, output %q", got, s.out.String())
			}
			var targets []string
			for _, r := range s.requests {
				_, query, _ := strings.Cut(r.target, "outputs/2")
				targets = append(targets, query)
				if strings.Contains(query, "&") && len(r.body) > 0 {
					t.Errorf("%s has a body of %d bytes", r.target, len(r.body))
				}
			}
			if !slices.Equal(targets, tt.targets) {
				t.Errorf("requests %q, want %q", targets, tt.targets)
			}
		})
	}
}

// After SIGTERM, the outputs are sent once the scripts have ended.
func TestOutputsAfterSIGTERM(t *testing.T) {
	for shell, path := range map[string]string{
		"sh": imageWith(t, "curl", "tar", "gzip", "grep", "head", "wc"), "bash": imageWith(t, "bash", "curl", "tar", "gzip", "grep", "head", "wc"),
	} {
		if path == "" {
			continue
		}
		t.Run(shell, func(t *testing.T) {
			s := senderOf(t, path, "trap 'echo saved >x; exit 5' TERM\necho begun\nwhile :; do sleep 0.1; done", "x", always(http.StatusOK))
			s.Stdout = nil
			says, err := s.StdoutPipe()
			must.Succeed(t, err)
			must.Succeed(t, s.Start())
			if line, err := bufio.NewReader(says).ReadString('\n'); err != nil || line != "begun\n" {
				t.Fatalf("%q, %v", line, err)
			}
			must.Succeed(t, s.Process.Signal(syscall.SIGTERM))
			if got := code(t, s.Wait()); got != 5 || len(s.requests) != 1 || namesIn(t, s.requests[0].body)["x"] != "saved\n" {
				t.Errorf("exit code %d, %d requests, output %q", got, len(s.requests), s.out.String())
			}
		})
	}
}
