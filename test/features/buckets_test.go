package features

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// startForBuckets starts a server that supports buckets. deploy/test.sh builds the image.
func startForBuckets(t *testing.T, flags ...string) *server {
	t.Helper()
	image := os.Getenv("K8S_CLI_TEST_BUCKET_IMAGE")
	if image == "" || os.Getenv("K8S_CLI_TEST_S3") == "" {
		t.Skip("K8S_CLI_TEST_BUCKET_IMAGE and K8S_CLI_TEST_S3 name no image and no S3 server; deploy/test.sh builds both")
	}
	return join(t).serve(t, append([]string{"--bucket-image", image}, flags...)...)
}

const keyID = "AKIDEXAMPLE12345"

// serveS3 runs the S3 server of rclone with the directories in dir as its buckets.
func serveS3(t *testing.T, dir, address string) (stop func()) {
	t.Helper()
	serve := exec.Command(os.Getenv("K8S_CLI_TEST_S3"), "serve", "s3", "--addr", address, "--auth-key", keyID+","+secretValue, "--vfs-cache-mode", "off", dir)
	serve.Env = append(os.Environ(), "HOME="+t.TempDir())
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		_ = serve.Process.Kill() // the server may have ended
		_ = serve.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// fillBucket writes files with random content, and returns what sha256sum prints about the sorted files.
func fillBucket(t *testing.T, dir string, sizes map[string]int) string {
	t.Helper()
	random := rand.NewChaCha8([32]byte{1})
	var lines []string
	for name, size := range sizes {
		content := make([]byte, size)
		_, _ = random.Read(content) // never fails
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		must.Write(t, path, string(content))
		lines = append(lines, fmt.Sprintf("./%s  %x\n", name, sha256.Sum256(content)))
	}
	slices.Sort(lines)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, ""))))
}

// Each node gets the bytes of its buckets, also if the store is not reachable at first. Only the container
// that copies gets the secret of the buckets, and the secret occurs nowhere else.
func TestBucketIsCopied(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := startForBuckets(t, "--nats-listen", "off", "--data-dir", data, "--log-level", "debug")
	ann, store, address := s.as(t, "ann"), t.TempDir(), s.freeAddress(t)
	sizes := map[string]int{"large": 50_000_000, "empty": 0}
	for i := range 1000 {
		sizes[fmt.Sprintf("d%d/f%d", i%10, i)] = i
	}
	want := fillBucket(t, filepath.Join(store, "data", "train"), sizes)
	must.Write(t, filepath.Join(store, "data", "outside"), "x")
	if err := os.MkdirAll(filepath.Join(store, "more"), 0o755); err != nil {
		t.Fatal(err)
	}
	must.Write(t, filepath.Join(store, "more", "note"), "a note\n")
	id := ann.submit(t, `
num_nodes: 2
envs: {PART: train, AWS_ENDPOINT_URL: "http://`+address+`"}
secrets: {AWS_ACCESS_KEY_ID: `+keyID+`, AWS_SECRET_ACCESS_KEY: '`+secretValue+`'}
file_mounts:
  /data: s3://data/$PART
  ~/of/more: {source: s3://more, mode: COPY}
setup: cat ~/of/more/note
run: |
  env | grep -e AWS_SECRET -e AWS_ACCESS -e K8S_CLI && exit 9
  cd /data
  find . -type f -exec sha256sum {} + | sed -E 's/^(\S+) +(.*)/\2  \1/' | LC_ALL=C sort | sha256sum | cut -d' ' -f1
  echo mine >~/of/more/note && touch /data/new
`)
	ann.awaitWhere(t, id, "the reason FetchingBuckets", func(s task.Status) bool { return s.Metadata.Reason == task.ReasonCopying })
	serveS3(t, store, address)
	ann.await(t, id, task.Completed)
	text := ann.log(t, id, client.LogOptions{})
	for rank := range 2 {
		if got := linesOf(text, rank); !slices.Equal(got, []string{"a note", want}) {
			t.Errorf("node %d printed %q, want the sum %s", rank, got, want)
		}
	}
	if note, err := os.ReadFile(filepath.Join(store, "more", "note")); err != nil || string(note) != "a note\n" {
		t.Errorf("the task changed the bucket: %q, %v", note, err)
	}
	ann.searchCluster(t, id, "AWS_SECRET_ACCESS_KEY")
	searchFiles(t, data, "s3://data/train")
	for _, path := range []string{"/tasks/" + id, "/tasks/" + id + "/spec", "/tasks/" + id + "/events", "/tasks/" + id + "/logs?follow=false"} {
		if a := s.get(t, "ann", path); a.code != http.StatusOK || holds(a.body) {
			t.Errorf("%s: %d %s", path, a.code, a.body)
		}
	}
}

// mountTask returns a task with a bucket whose changed files are sent back.
func mountTask(address, url, run string) string {
	return `
envs: {AWS_ENDPOINT_URL: "http://` + address + `"}
secrets: {AWS_ACCESS_KEY_ID: ` + keyID + `, AWS_SECRET_ACCESS_KEY: '` + secretValue + `'}
file_mounts: {/out: {source: '` + url + `', mode: MOUNT_CACHED}}
` + run
}

// bucketHolds reports whether an object has this content.
func bucketHolds(path, content string) bool {
	raw, err := os.ReadFile(path)
	return err == nil && string(raw) == content
}

// Everything that a task wrote to a mounted bucket is in the bucket when the task is completed, also if
// the sidecar was killed, and the store did not respond, after the scripts had ended.
func TestBucketsAreMounted(t *testing.T) {
	t.Parallel()
	s := startForBuckets(t, "--allow-exec")
	ann, store, address := s.as(t, "ann"), t.TempDir(), s.freeAddress(t)
	bucket := "mounted-" + s.namespace
	fillBucket(t, filepath.Join(store, bucket, "run"), map[string]int{"before": 100})
	stop := serveS3(t, store, address)
	id := ann.submit(t, mountTask(address, "s3://"+bucket+"/run", `
run: |
  test -s /out/before && mkdir /out/sub && echo early >/out/sub/early
  until [ -e /tmp/go ]; do sleep 1; done
  for i in $(seq 200); do echo $i >/out/sub/$i; done
  head -c 20000000 /dev/urandom >/out/large
  sha256sum </out/large | cut -d' ' -f1
`))
	ann.awaitWhere(t, id, "a running node", func(s task.Status) bool { return s.Phase == task.Running })
	dir := filepath.Join(store, bucket, "run")
	eventually(t, "a file that was closed is in the bucket", func() (string, bool) { return "", bucketHolds(filepath.Join(dir, "sub", "early"), "early\n") })
	stop()
	ann.cli(t, "auth", "login", "ann").ok(t)
	ann.cli(t, "jobs", "exec", id, "--no-stdin", "--", "touch", "/tmp/go").ok(t)
	eventually(t, "the scripts have ended", func() (string, bool) {
		r := ann.cli(t, "jobs", "exec", id, "--no-stdin", "--", "test", "-e", "/k8s-cli-buckets/control/done")
		return r.errOut, r.code == 0
	})
	killSender(t, bucket)
	if phase := ann.task(t, id).Phase; phase != task.Running {
		t.Errorf("the task is %s although files are not stored", phase)
	}
	serveS3(t, store, address)
	ann.await(t, id, task.Completed)
	lines := strings.Fields(ann.log(t, id, client.LogOptions{}))
	for i := range 200 {
		if name := fmt.Sprint(i + 1); !bucketHolds(filepath.Join(dir, "sub", name), name+"\n") {
			t.Errorf("sub/%s is not in the bucket", name)
		}
	}
	raw, err := os.ReadFile(filepath.Join(dir, "large"))
	if sum := fmt.Sprintf("%x", sha256.Sum256(raw)); err != nil || len(lines) == 0 || lines[0] != sum {
		t.Errorf("large has the sum %s (%v), want %q", sum, err, lines)
	}
}

// killSender kills the sidecar that sends to a bucket. The node of the cluster is this machine.
func killSender(t *testing.T, bucket string) {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range processes {
		command, _ := os.ReadFile(path) // the process may have ended
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		if string(command) != "/k8s-cli-bucket\x00send\x00" || !strings.Contains(string(environ), bucket) {
			continue
		}
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil {
			err = syscall.Kill(id, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("no sidecar runs")
}

// A node does not overwrite what another node wrote to the same object.
func TestTwoNodesWriteToOneBucket(t *testing.T) {
	t.Parallel()
	s := startForBuckets(t)
	ann, store, address := s.as(t, "ann"), t.TempDir(), s.freeAddress(t)
	fillBucket(t, filepath.Join(store, "data"), map[string]int{"shared": 100})
	serveS3(t, store, address)
	id := ann.submit(t, mountTask(address, "s3://data", `
num_nodes: 2
run: |
  echo $NODE_RANK >/out/of-$NODE_RANK
  sleep $((NODE_RANK * 15))
  echo of $NODE_RANK >/out/shared
`))
	m := ann.await(t, id, task.Failed).Metadata
	if m.Reason != task.ReasonNotSent || !strings.Contains(m.Message, "shared in s3://data was changed by another node") {
		t.Errorf("%s: %s", m.Reason, m.Message)
	}
	for name, content := range map[string]string{"shared": "of 0\n", "of-0": "0\n", "of-1": "1\n"} {
		if !bucketHolds(filepath.Join(store, "data", name), content) {
			t.Errorf("%s is not %q", name, content)
		}
	}
}

func TestBucketsThatCannotBeCopied(t *testing.T) {
	t.Parallel()
	s := startForBuckets(t, "--bucket-max", "1Mi")
	ann, store, address := s.as(t, "ann"), t.TempDir(), s.freeAddress(t)
	fillBucket(t, filepath.Join(store, "data"), map[string]int{"file": 1000})
	fillBucket(t, filepath.Join(store, "large"), map[string]int{"file": 2 << 20})
	serveS3(t, store, address)
	for name, tt := range map[string]struct{ url, secret, want string }{
		"wrong credentials": {"s3://data", "another", "check the secrets AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"},
		"no bucket":         {"s3://absent", secretValue, "s3://absent does not exist"},
		"one object":        {"s3://data/file", secretValue, "s3://data/file is a single object"},
		"too much":          {"s3://large", secretValue, "have 2 MiB in 1 objects, more than the limit of the server of 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := ann.submit(t, `
envs: {AWS_ENDPOINT_URL: "http://`+address+`"}
secrets: {AWS_ACCESS_KEY_ID: `+keyID+`, AWS_SECRET_ACCESS_KEY: '`+tt.secret+`'}
file_mounts: {/data: '`+tt.url+`'}
run: echo ran
`)
			m := ann.await(t, id, task.Failed).Metadata
			if m.Reason != task.ReasonNotCopied || !strings.Contains(m.Message, tt.want) || m.Hint == "" || strings.Contains(m.Message, tt.secret) {
				t.Errorf("%s: %s (%s), want %q", m.Reason, m.Message, m.Hint, tt.want)
			}
		})
	}
}

func TestBucketsWithoutAnImageAreRejected(t *testing.T) {
	t.Parallel()
	s := start(t)
	a := s.post(t, "ann", "/tasks/submit", `{"run": "true", "file_mounts": {"/data": "s3://data"}}`)
	if a.code != http.StatusUnprocessableEntity || !strings.Contains(string(a.body), "FeatureDisabled") || !strings.Contains(string(a.body), "--bucket-image") {
		t.Errorf("%d %s", a.code, a.body)
	}
}
