package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	keyID  = "AKIDEXAMPLE12345"
	secret = "a-secret-of-the-store"
)

// program is the S3 server: rclone serve s3.
var program string

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	dir, err := os.MkdirTemp("", "k8s-cli-bucket-")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "s3server")
	if out, err := exec.Command("go", "build", "-trimpath", "-gcflags=all=-dwarf=false", "-o", program, "./s3server").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v\n%s", err, out))
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// A store is an S3 server with the buckets below a directory.
type store struct {
	dir, address string
	stop         func()
}

func newStore(t *testing.T) *store {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &store{dir: t.TempDir(), address: l.Addr().String()}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.start(t)
	return s
}

// start starts the server and returns when the server accepts connections.
func (s *store) start(t *testing.T) {
	t.Helper()
	server := exec.Command(program, "serve", "s3", "--addr", s.address, "--auth-key", keyID+","+secret, "--vfs-cache-mode", "off", s.dir)
	server.Stderr = os.Stderr
	server.Env = append(os.Environ(), "HOME="+t.TempDir())
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	s.stop = func() { _ = server.Process.Kill(); _ = server.Wait() }
	t.Cleanup(func() { s.stop() })
	for dialer := (net.Dialer{}); t.Context().Err() == nil; {
		if c, err := dialer.DialContext(t.Context(), "tcp", s.address); err == nil {
			_ = c.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// fill writes files with random content to a bucket, and returns their sums.
func (s *store) fill(t *testing.T, bucket string, sizes map[string]int) map[string]string {
	t.Helper()
	random := rand.NewChaCha8([32]byte{7})
	sums := map[string]string{}
	for name, size := range sizes {
		content := make([]byte, size)
		_, _ = random.Read(content) // never fails
		path := filepath.Join(s.dir, bucket, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		sums[name] = fmt.Sprintf("%x", sha256.Sum256(content))
	}
	return sums
}

// sumsOf returns the sums of the files below dir.
func sumsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		sum := sha256.New()
		if _, err := io.Copy(sum, f); err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		sums[name] = fmt.Sprintf("%x", sum.Sum(nil))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

func (s *store) variables() map[string]string {
	return map[string]string{"AWS_ACCESS_KEY_ID": keyID, "AWS_SECRET_ACCESS_KEY": secret, "AWS_ENDPOINT_URL": "http://" + s.address}
}

// bucketAt returns a bucket with the names of variables that the server sends.
func bucketAt(root, dir string) bucket {
	return bucket{
		URL: "s3://" + root, Dir: dir, Backend: "s3", Root: root, Options: map[string]string{"provider": "AWS"},
		Credentials: map[string][]string{"access_key_id": {"AWS_ACCESS_KEY_ID"}, "secret_access_key": {"AWS_SECRET_ACCESS_KEY"}},
		Settings:    map[string][]string{"endpoint": {"AWS_ENDPOINT_URL"}},
	}
}

// fetch runs the program with a plan.
func fetch(ctx context.Context, t *testing.T, p plan, variables map[string]string) error {
	t.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return run(ctx, []string{"fetch"}, func(name string) string {
		if name == planVariable {
			return string(raw)
		}
		return variables[name]
	})
}

func equal(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, sum := range a {
		if b[name] != sum {
			return false
		}
	}
	return true
}

func TestFilesArriveAsTheyAre(t *testing.T) {
	s := newStore(t)
	sizes := map[string]int{"large": 40 << 20, "empty": 0, "with blank/ü +&.txt": 10}
	for i := range 300 {
		sizes[fmt.Sprintf("small/%d/%d", i%7, i)] = i
	}
	want := s.fill(t, "data/train", sizes)
	s.fill(t, "data/other", map[string]int{"x": 1})
	more := s.fill(t, "second", map[string]int{"y": 5})
	dir := t.TempDir()
	p := plan{Max: 1 << 30, Buckets: []bucket{bucketAt("data/train", filepath.Join(dir, "0")), bucketAt("second", filepath.Join(dir, "1"))}}
	for range 2 { // the second time there is nothing to copy
		if err := fetch(t.Context(), t, p, s.variables()); err != nil {
			t.Fatal(err)
		}
		if got := sumsOf(t, p.Buckets[0].Dir); !equal(got, want) {
			t.Errorf("%d files arrived, or other bytes; want %d", len(got), len(want))
		}
		if got := sumsOf(t, p.Buckets[1].Dir); !equal(got, more) {
			t.Errorf("of the second bucket: %v", got)
		}
	}
}

func TestFailuresSayWhatToDo(t *testing.T) {
	s := newStore(t)
	s.fill(t, "data", map[string]int{"file": 2000, "dir/x": 1})
	with := func(name, value string) map[string]string {
		all := s.variables()
		all[name] = value
		return all
	}
	for _, tt := range []struct {
		name      string
		root      string
		max       int64
		variables map[string]string
		want      string
	}{
		{"a wrong secret", "data", 1 << 20, with("AWS_SECRET_ACCESS_KEY", "another-secret"), "check the secrets AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"},
		{"an unknown key", "data", 1 << 20, with("AWS_ACCESS_KEY_ID", "AKIDUNKNOWN"), "check the secrets AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"},
		{"no bucket", "absent", 1 << 20, s.variables(), "s3://absent does not exist"},
		{"one object", "data/file", 1 << 20, s.variables(), "s3://data/file is a single object"},
		{"too much", "data", 2000, s.variables(), "have 1.954 KiB in 2 objects, more than the limit of the server of 1.953 KiB (--bucket-max)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			start := time.Now()
			err := fetch(t.Context(), t, plan{Max: tt.max, Buckets: []bucket{bucketAt(tt.root, dir)}}, tt.variables)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "another-secret")) {
				t.Errorf("the message contains a secret: %v", err)
			}
			if got := sumsOf(t, dir); len(got) > 0 {
				t.Errorf("fetched %v", got)
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("the failure took %s", took)
			}
		})
	}
}

// TestStoreOfAnotherProvider checks that rclone knows the provider MinIO, and that the keys of a store
// whose URL is unknown are not sent to Amazon.
func TestStoreOfAnotherProvider(t *testing.T) {
	s := newStore(t)
	want := s.fill(t, "data", map[string]int{"file": 2000})
	dir := t.TempDir()
	b := bucketAt("data", dir)
	b.URL, b.Options = "minio://data", map[string]string{"provider": "Minio"}
	variables := s.variables()
	if err := fetch(t.Context(), t, plan{Max: 1 << 20, Buckets: []bucket{b}}, variables); err != nil || !equal(sumsOf(t, dir), want) {
		t.Errorf("%v, %v", sumsOf(t, dir), err)
	}
	delete(variables, "AWS_ENDPOINT_URL")
	err := fetch(t.Context(), t, plan{Max: 1 << 20, Buckets: []bucket{b}}, variables)
	if err == nil || !strings.Contains(err.Error(), "the URL of the store of minio://data is not known; set AWS_ENDPOINT_URL") {
		t.Errorf("without the URL of the store: %v", err)
	}
}

// TestStoreThatIsAway checks that a fetch waits for a store that does not respond, and then completes.
func TestStoreThatIsAway(t *testing.T) {
	s := newStore(t)
	want := s.fill(t, "data", map[string]int{"a": 1000, "b": 2000})
	s.stop()
	dir := t.TempDir()
	ended := make(chan error, 1)
	go func() {
		ended <- fetch(t.Context(), t, plan{Max: 1 << 20, Buckets: []bucket{bucketAt("data", dir)}}, s.variables())
	}()
	select {
	case err := <-ended:
		t.Fatalf("ended without a store: %v", err)
	case <-time.After(outage(t)):
	}
	s.start(t)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := sumsOf(t, dir); !equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// outage returns how long a store is away: 3 s, or K8S_CLI_TEST_BUCKET_OUTAGE.
func outage(t *testing.T) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(cmp.Or(os.Getenv("K8S_CLI_TEST_BUCKET_OUTAGE"), "3s"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestCredentialsAreRedacted(t *testing.T) {
	b := bucketAt("data", "/d")
	err := redacted(fmt.Errorf("GET /?sig=%s of http://host", secret), &plan{Buckets: []bucket{b}}, func(name string) string {
		return map[string]string{"AWS_SECRET_ACCESS_KEY": secret, "AWS_ENDPOINT_URL": "http://host"}[name]
	})
	if err.Error() != "GET /?sig=<redacted> of http://host" {
		t.Error(err)
	}
}
