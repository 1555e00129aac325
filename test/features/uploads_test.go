package features

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
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
	must.Succeed(t, err)
	defer l.Close()
	return l.Addr().String()
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
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Write(t, path, text)
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
	ann := s.as(t, "ann")
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
}

// Six commands upload the same new directory at once, as a loop of a user does.
func TestCommandsUploadTheSameDirectoryAtOnce(t *testing.T) {
	t.Parallel()
	s := startForFiles(t)
	ann := s.as(t, "ann")
	data := make([]byte, 3<<20)
	if _, err := rand.Read(data); err != nil {
		t.Fatal(err)
	}
	ann.put(t, map[string]string{"src/data": string(data), "task.yaml": "resources: {cpus: 0.05, memory: 64Mi}\nworkdir: src\nrun: sha256sum data\n"})
	var commands []*command
	for range 6 {
		commands = append(commands, ann.begin(t, "jobs", "submit", "-q", "task.yaml"))
	}
	for _, c := range commands {
		r := c.end(t)
		if r.code != 0 {
			t.Fatalf("exit code %d: %s", r.code, r.errOut)
		}
		ann.says(t, strings.TrimSpace(r.out), fmt.Sprintf("%x  data\n", sha256.Sum256(data)))
	}
}

// A pod that needs files waits while the server is down.
func TestPodWaitsForItsFiles(t *testing.T) {
	t.Parallel()
	s := startForFiles(t)
	ann := s.as(t, "ann")
	ann.put(t, map[string]string{"site/f": "f\n", "task.yaml": "workdir: site\nrun: cat f\n"})
	lift := s.limit(t, "count/pods")
	id := ann.submitFile(t, "task.yaml")
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
	s.again(t).as(t, "ann").says(t, id, "f\n")
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
