package features

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
)

// startForFiles starts a server that pods can reach, with these flags.
func startForFiles(t *testing.T, flags ...string) *server {
	t.Helper()
	c := join(t)
	address := c.freeAddress(t)
	own := []string{"--nats-listen", "off", "--data-dir", t.TempDir(), "--listen", address, "--advertise-url", "http://" + address}
	return c.serve(t, append(own, flags...)...)
}

// freeAddress returns an address that pods can reach and at which no process listens.
func (c *cluster) freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(c.nodeAddress(t), "0")) // the cluster's node is this machine
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Pods fetch their files from a port that serves nothing else.
func TestFilesHaveAPortOfTheirOwn(t *testing.T) {
	t.Parallel()
	c := join(t)
	files := c.freeAddress(t)
	s := c.serve(t, "--listen", c.freeAddress(t), "--files-listen", files, "--advertise-url", "http://"+files)
	ann := s.as(t, "ann")
	ann.put(t, map[string]string{"site/data": "of ann\n", "task.yaml": "workdir: site\nrun: cat data\n"})
	ann.says(t, ann.submitFile(t, "task.yaml"), "of ann\n")
	for _, path := range []string{"/tasks", "/readyz", "/metrics"} {
		answer, err := http.Get("http://" + files + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusNotFound {
			t.Errorf("GET %s: %d", path, answer.StatusCode)
		}
	}
}

// counting returns the user with a server URL that leads through a proxy, and the number of
// uploads through that proxy.
func (u *user) counting(t *testing.T) (*user, *atomic.Int32) {
	t.Helper()
	count := &atomic.Int32{}
	to, err := url.Parse(u.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			count.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	s := *u.server // the copy has another URL
	s.url = front.URL
	return &user{Client: u.Client, server: &s, name: u.name, home: u.home}, count
}

// submitFile submits a task file from the user's home with the CLI and returns the task's
// id.
func (u *user) submitFile(t *testing.T, file string, more ...string) string {
	t.Helper()
	out := u.cli(t, append([]string{"jobs", "submit", "-d", file}, more...)...).ok(t)
	m := regexp.MustCompile(`Task ID: (\S+)`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("jobs submit printed %q", out)
	}
	return m[1]
}

// put writes files in the user's home.
func (u *user) put(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(u.home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		testkit.Write(t, path, text)
	}
}

// says waits until a task ends, and checks its log.
func (u *user) says(t *testing.T, id, want string) {
	t.Helper()
	got := u.log(t, id, client.LogOptions{})
	if s := u.task(t, id); got != want || s.Phase != task.Completed {
		t.Errorf("task %s is %s and says\n%s\nwant\n%s", id, sketch(s), got, want)
	}
}

// The files of the user's machine that a task file names exist on all nodes before setup
// starts.
func TestFileMountsReachAllNodes(t *testing.T) {
	t.Parallel()
	s := startForFiles(t)
	ann, uploads := s.as(t, "ann").counting(t)
	ann.put(t, map[string]string{
		"site/.skyignore": "*.log\n", "site/run.sh": "echo run by $0", "site/sub/data": "data\n", "site/x.log": "x", "site/.git/config": "x",
		"conf": "conf\n", "dir/one/two": "two\n",
		"task.yaml": `
num_nodes: 2
workdir: site
file_mounts: {/etc/app/conf: conf, ~/dir: dir, here: dir/one}
setup: pwd; ls -A; touch made
run: pwd; sh run.sh; cat sub/data /etc/app/conf ~/dir/one/two here/two; ls made
`,
	})
	id := ann.submitFile(t, "task.yaml")
	text := ann.log(t, id, client.LogOptions{})
	ann.await(t, id, task.Completed)
	for rank := range 2 {
		lines := linesOf(text, rank)
		if len(lines) == 0 {
			t.Fatalf("node %d says nothing:\n%s", rank, text)
		}
		home := strings.TrimSuffix(lines[0], "/sky_workdir")
		want := []string{home + "/sky_workdir", ".skyignore", "here", "run.sh", "sub", home + "/sky_workdir", "run by run.sh", "data", "conf", "two", "two", "made"}
		if !slices.Equal(lines, want) {
			t.Errorf("node %d says %q, want %q", rank, lines, want)
		}
	}
	if n := uploads.Load(); n != 4 {
		t.Errorf("%d uploads, want 4", n)
	}
	secret, err := s.CoreV1().Secrets(s.namespace).List(t.Context(), of(id))
	if err != nil || len(secret.Items) != 1 || len(secret.Items[0].Data) != 1 {
		t.Fatalf("the Secret of the task: %v, %+v", err, secret)
	}
	token := string(slices.Collect(maps.Values(secret.Items[0].Data))[0])
	for _, pod := range s.pods(t, id) {
		if raw := fmt.Sprintf("%+v", pod); strings.Contains(raw, token) {
			t.Errorf("pod %s has the token in it", pod.Name)
		}
	}

	ann.put(t, map[string]string{"nobody.yaml": "workdir: site\nrun: id -u; cat sub/data; touch new\nconfig: {kubernetes: {pod_config: {spec: {securityContext: {runAsUser: 4711}}}}}\n"})
	ann.says(t, ann.submitFile(t, "nobody.yaml"), "4711\ndata\n")
	ann.submitFile(t, "task.yaml")
	if n := uploads.Load(); n != 4 {
		t.Errorf("%d uploads of the same files, want 4", n)
	}
	ann.put(t, map[string]string{"site/sub/data": "other\n"})
	ann.submitFile(t, "task.yaml")
	if n := uploads.Load(); n != 5 {
		t.Errorf("%d uploads after one was changed, want 5", n)
	}
}

func TestMissingWorkingDirectories(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("this machine has no git")
	}
	s := startForFiles(t)
	ann := s.as(t, "ann")
	ann.put(t, map[string]string{"repo/file": "first\n", "git.yaml": "workdir: {url: \"${REPO}\", ref: v1}\nenvs: {REPO: repo}\nrun: cat file; ls -A\n"})
	gone := filepath.Join(ann.home, "only-in-the-image")
	ann.put(t, map[string]string{"image.yaml": "workdir: " + gone + "\nsetup: 'true'\nrun: pwd\n"})
	id := ann.submitFile(t, "image.yaml")
	ann.awaitWhere(t, id, "fails in a directory that its image has not", func(s task.Status) bool { return s.Phase == task.Failed })
	if got := s.jobs(t, id)[0].Spec.Template.Spec; got.Containers[0].Args[0] != gone || len(got.InitContainers) > 0 {
		t.Errorf("it was to start in %q, with %d containers before", got.Containers[0].Args, len(got.InitContainers))
	}
	for _, arguments := range [][]string{{"init", "--quiet"}, {"add", "-A"}, {"commit", "--quiet", "-m", "first"}, {"tag", "v1"}} {
		git(t, filepath.Join(ann.home, "repo"), arguments...)
	}
	ann.put(t, map[string]string{"repo/file": "second\n"})
	git(t, filepath.Join(ann.home, "repo"), "commit", "--quiet", "-a", "-m", "second")
	ann.says(t, ann.submitFile(t, "git.yaml"), "first\nfile\n")
	ann.says(t, ann.submitFile(t, "git.yaml", "--env", "REPO=file://"+filepath.Join(ann.home, "repo")), "first\nfile\n")
	if said := ann.cli(t, "jobs", "submit", "git.yaml", "--env", "REPO=nowhere").fails(t, 1); !strings.Contains(said, "workdir: git fetch: ") {
		t.Errorf("it says %q", said)
	}
}

func git(t *testing.T, dir string, arguments ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"}, arguments...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", arguments, err, out)
	}
}

// Only its owner can use an upload, and an upload token is valid for its task only.
func TestUploadsAreVisibleToTheirTaskOnly(t *testing.T) {
	t.Parallel()
	s := startForFiles(t)
	ann := s.as(t, "ann")
	ann.put(t, map[string]string{"site/f": "f", "task.yaml": "workdir: site\nrun: sleep 10000\n"})
	first, second := ann.submitFile(t, "task.yaml"), ann.submitFile(t, "task.yaml")
	job := s.awaitJobs(t, first, 1)[0]
	sum := job.Spec.Template.Spec.InitContainers[0].Args[2]
	if a := s.get(t, "ann", "/uploads/"+sum); a.code != http.StatusOK {
		t.Errorf("its owner gets %d", a.code)
	}
	if a := s.get(t, "bob", "/uploads/"+sum); a.code != http.StatusNotFound {
		t.Errorf("another user gets %d", a.code)
	}
	body := fmt.Sprintf(`{"run": "cat f", "workdir": "~/sky_workdir", "uploads": {"~/sky_workdir": %q}}`, sum)
	if a := s.post(t, "bob", "/tasks/submit", body); a.code != http.StatusConflict || !strings.Contains(string(a.body), sum+" is not on the server") {
		t.Errorf("another user's task: %d %s", a.code, a.body)
	}
	ann.await(t, first, task.Running)
	ann.await(t, second, task.Running)
	token := func(id string) string {
		secrets, err := s.CoreV1().Secrets(s.namespace).List(t.Context(), of(id))
		if err != nil || len(secrets.Items) != 1 {
			t.Fatalf("the Secret of %s: %v, %d", id, err, len(secrets.Items))
		}
		return string(secrets.Items[0].Data["files.token"])
	}
	for name, tt := range map[string]struct {
		authorization string
		code          int
	}{
		"its own": {"Bearer " + token(first), http.StatusOK}, "another task's": {"Bearer " + token(second), http.StatusForbidden},
		"none": {"", http.StatusUnauthorized}, "another kind": {"Basic " + token(first), http.StatusUnauthorized},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/tasks/"+first+"/files/"+sum, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.authorization != "" {
			request.Header.Set("Authorization", tt.authorization)
		}
		answer, err := held(t).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != tt.code {
			t.Errorf("with %s token: %d, want %d", name, answer.StatusCode, tt.code)
		}
	}
	ann.stop(t, first)
	ann.stop(t, second)
}

// A pod waits while the server is down. An upload that no task needs is deleted, and the CLI
// uploads the files again for the next task.
func TestUploadsExpire(t *testing.T) {
	t.Parallel()
	s := startForFiles(t, "--keep-uploads", "2s")
	ann := s.as(t, "ann")
	ann.put(t, map[string]string{"site/f": "f\n", "task.yaml": "workdir: site\nrun: cat f\n"})
	lift := s.limit(t, "count/pods")
	id := ann.submitFile(t, "task.yaml")
	sum := s.awaitJobs(t, id, 1)[0].Spec.Template.Spec.InitContainers[0].Args[2]
	ann.awaitWhere(t, id, "is applied", func(st task.Status) bool {
		secrets, err := s.CoreV1().Secrets(s.namespace).List(t.Context(), of(id))
		return err == nil && len(secrets.Items) == 1
	})
	s.process.terminate(t)
	<-s.process.Ended()
	lift()
	eventually(t, "the pod tries to get its files", func() (string, bool) {
		pods := s.pods(t, id)
		if len(pods) == 0 || len(pods[0].Status.InitContainerStatuses) == 0 {
			return fmt.Sprintf("%d pods", len(pods)), false
		}
		state := pods[0].Status.InitContainerStatuses[0].State
		return fmt.Sprintf("%+v", state), state.Running != nil
	})
	s = s.again(t)
	ann = &user{Client: ann.Client, server: s, name: ann.name, home: ann.home}
	ann.says(t, id, "f\n")
	eventually(t, "the upload goes", func() (string, bool) {
		a := s.get(t, "ann", "/uploads/"+sum)
		return fmt.Sprint(a.code), a.code == http.StatusNotFound
	})
	body := fmt.Sprintf(`{"run": "cat f", "uploads": {"/data": %q}}`, sum)
	if a := s.post(t, "ann", "/tasks/submit", body); a.code != http.StatusConflict {
		t.Errorf("a task with files that are gone: %d %s", a.code, a.body)
	}
	ann.says(t, ann.submitFile(t, "task.yaml"), "f\n")
}

// All nodes of a large task fetch its files at once and get all files, while other users
// submit tasks.
func TestManyNodesFetchUploadsAtOnce(t *testing.T) {
	t.Parallel()
	const nodes = 63 // in addition to the pod of the task
	s := startForFiles(t)
	ann, bob := s.as(t, "ann"), s.as(t, "bob")
	content := make([]byte, 4<<20)
	if _, err := rand.Read(content); err != nil {
		t.Fatal(err)
	}
	ann.put(t, map[string]string{"site/data": string(content), "task.yaml": "workdir: site\nrun: sha256sum < data\n"})
	id := ann.submitFile(t, "task.yaml")
	pod := s.awaitJobs(t, id, 1)[0].Spec.Template.Spec.InitContainers[0]
	path := "/tasks/" + id + "/files/" + pod.Args[2]
	var token string
	eventually(t, "the task has its token", func() (string, bool) {
		secrets, err := s.CoreV1().Secrets(s.namespace).List(t.Context(), of(id))
		if err == nil && len(secrets.Items) == 1 {
			token = string(secrets.Items[0].Data["files.token"])
		}
		return fmt.Sprint(err), token != ""
	})
	// The test sends the requests of the nodes of a task itself, with the credentials of
	// their pods: a cluster of one small machine has no capacity for so many pods.
	fetched := make(chan error, nodes)
	for range nodes {
		go func() { fetched <- s.fetch(t.Context(), path, token, pod.Args[2]) }()
	}
	for range nodes {
		bob.stop(t, bob.submit(t, idle))
		if err := <-fetched; err != nil {
			t.Errorf("fetch the archive: %v", err)
		}
	}
	ann.says(t, id, fmt.Sprintf("%x  -\n", sha256.Sum256(content)))
}

// fetch downloads an archive as a pod does, and checks its hash.
func (s *server) fetch(ctx context.Context, path, token, sum string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, answer.Body)
	if got := fmt.Sprintf("%x", hash.Sum(nil)); err == nil && got != sum {
		err = fmt.Errorf("status %d, %d bytes, SHA-256 %s, want %s", answer.StatusCode, size, got, sum)
	}
	return err
}

// The log of a container that cannot fetch its files says why.
func TestUploadFetchErrors(t *testing.T) {
	t.Parallel()
	s := startForFiles(t)
	ann := s.as(t, "ann")
	sum := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // the hash of no bytes, which are not a valid archive
	if a := s.send(t, http.MethodPut, "ann", "/uploads/"+sum, nil); a.code != http.StatusOK {
		t.Fatalf("upload: %d %s", a.code, a.body)
	}
	ann.put(t, map[string]string{"site/f": "f\n", "task.yaml": "file_mounts: {/proc/files: site}\nrun: cat f\n"})
	for name, tt := range map[string]struct{ id, reason, says string }{
		"no archive":  {decode[task.Submitted](t, s.post(t, "ann", "/tasks/submit", `{"run": "true", "uploads": {"/data": "`+sum+`"}}`)).ID, task.ReasonNotFetched, "must be a tar.gz"},
		"not a place": {ann.submitFile(t, "task.yaml"), "Error", "cannot put the task's files at /proc/files"},
	} {
		got := ann.awaitWhere(t, tt.id, "fails", func(s task.Status) bool { return s.Phase.Over() })
		if got.Phase != task.Failed || got.Metadata.Reason != tt.reason || !strings.Contains(got.Metadata.Message, tt.says) || got.Metadata.Hint == "" {
			t.Errorf("%s: %s, with the hint %q", name, sketch(got), got.Metadata.Hint)
		}
	}
}
