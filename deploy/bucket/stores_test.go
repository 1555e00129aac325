package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const azureKey = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==" //nolint:gosec // the public key of Azurite

// A foreign is a server of an object store that is not part of rclone, and a bucket in the store.
type foreign struct {
	program   string
	arguments func(dir, host, port string) []string
	bucket    bucket
	variables func(address string) map[string]string
}

var foreignStores = map[string]foreign{
	"S3 of versitygw": {
		program: "versitygw",
		arguments: func(dir, host, port string) []string {
			return []string{"--port", net.JoinHostPort(host, port), "--access", keyID, "--secret", secret, "--quiet", "posix", "--sidecar", filepath.Join(filepath.Dir(dir), "attributes"), dir}
		},
		bucket:    bucketAt("data", ""),
		variables: func(address string) map[string]string { return (&store{address: address}).variables() },
	},
	"Google Cloud Storage of fake-gcs-server": {
		program: "fake-gcs-server",
		arguments: func(dir, host, port string) []string {
			return []string{"-scheme", "http", "-host", host, "-port", port, "-public-host", net.JoinHostPort(host, port), "-filesystem-root", dir, "-log-level", "error"}
		},
		bucket: bucket{
			URL: "gs://data", Backend: "google cloud storage", Root: "data", Options: map[string]string{"bucket_policy_only": "true"}, Anonymous: map[string]string{"anonymous": "true"},
			Credentials: map[string][]string{"access_token": {"GOOGLE_OAUTH_ACCESS_TOKEN"}},
			Settings:    map[string][]string{"endpoint": {"GCS_ENDPOINT_URL"}, "project_number": {"GOOGLE_CLOUD_PROJECT"}},
		},
		variables: func(address string) map[string]string {
			return map[string]string{
				"GOOGLE_OAUTH_ACCESS_TOKEN": `{"access_token": "` + secret + `", "token_type": "Bearer", "expiry": "2100-01-01T00:00:00Z"}`,
				"GCS_ENDPOINT_URL":          "http://" + address + "/storage/v1/", "GOOGLE_CLOUD_PROJECT": "project",
			}
		},
	},
	"Azure of Azurite": {
		program: "azurite-blob",
		arguments: func(dir, host, port string) []string {
			return []string{"--blobHost", host, "--blobPort", port, "--location", dir, "--silent", "--skipApiVersionCheck"}
		},
		bucket: bucket{
			URL: "https://devstoreaccount1.blob.core.windows.net/data", Backend: "azureblob", Root: "data", Options: map[string]string{"account": "devstoreaccount1"},
			Credentials: map[string][]string{"key": {"AZURE_STORAGE_KEY"}}, Settings: map[string][]string{"endpoint": {"AZURE_STORAGE_ENDPOINT"}},
		},
		variables: func(address string) map[string]string {
			return map[string]string{"AZURE_STORAGE_KEY": azureKey, "AZURE_STORAGE_ENDPOINT": "http://" + address + "/devstoreaccount1"}
		},
	},
}

// start runs the server with its data in a new directory, and returns the variables of a task.
func (f foreign) start(t *testing.T) map[string]string {
	t.Helper()
	dir := os.Getenv("K8S_CLI_TEST_STORES")
	if dir == "" {
		t.Skip("K8S_CLI_TEST_STORES does not name the directory of the servers; make test-buckets installs the servers")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(address)
	data := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(filepath.Join(filepath.Dir(data), "attributes"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	server := exec.Command(filepath.Join(dir, f.program), f.arguments(data, host, port)...)
	var said strings.Builder
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		if t.Failed() {
			t.Logf("the server said:\n%s", said.String())
		}
	})
	dialer := net.Dialer{Timeout: time.Second}
	within(t, 3*time.Minute, func() bool {
		c, err := dialer.DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return f.variables(address)
}

// TestForeignStores creates a bucket in each store, fills the bucket, fetches a prefix, sends changes
// and fetches again.
func TestForeignStores(t *testing.T) {
	for name, f := range foreignStores {
		t.Run(name, func(t *testing.T) {
			variables := f.start(t)
			whole := f.bucket
			dir := t.TempDir()
			whole.Dir, whole.Create, whole.Files = t.TempDir(), true, map[string]string{"": dir}
			files := (&store{dir: dir})
			sizes := map[string]int{"train/large": 12 << 20, "train/empty": 0, "train/with blank +&.txt": 10, "other": 5}
			for i := range 200 {
				sizes[fmt.Sprintf("train/small/%d/%d", i%7, i)] = i
			}
			files.fill(t, ".", sizes)
			if err := fetch(t.Context(), t, plan{Max: 1 << 30, Buckets: []bucket{whole}}, variables); err != nil {
				t.Fatal(err)
			}
			if got, want := sumsOf(t, whole.Dir), sumsOf(t, dir); !equal(got, want) {
				t.Fatalf("%d files arrived, or other bytes; want %d", len(got), len(want))
			}
			f.checkChanges(t, variables, sumsOf(t, filepath.Join(dir, "train")))
			f.checkFailures(t, variables)
		})
	}
}

// checkChanges fetches a prefix, changes and adds files, and fetches the prefix again.
func (f foreign) checkChanges(t *testing.T, variables, want map[string]string) {
	t.Helper()
	b := f.bucket
	b.URL, b.Root, b.Dir, b.Send = b.URL+"/train", b.Root+"/train", t.TempDir(), true
	n := &node{plan: plan{Max: 1 << 30, Control: t.TempDir(), Buckets: []bucket{b}}}
	if err := fetch(t.Context(), t, n.plan, variables); err != nil {
		t.Fatal(err)
	}
	if got := sumsOf(t, b.Dir); !equal(got, want) {
		t.Fatalf("of the prefix, %d files arrived, or other bytes; want %d", len(got), len(want))
	}
	n.write(t, "small/0/7", "changed")
	n.write(t, "new/file", "new")
	writeLarge(t, filepath.Join(b.Dir, "new", "large"), 12, 3)
	n.begin(t, variables)
	if got := n.result(t); got != allStored {
		t.Fatal(got)
	}
	want = sumsOf(t, b.Dir)
	b.Dir, b.Send = t.TempDir(), false
	if err := fetch(t.Context(), t, plan{Max: 1 << 30, Buckets: []bucket{b}}, variables); err != nil {
		t.Fatal(err)
	}
	if got := sumsOf(t, b.Dir); !equal(got, want) {
		t.Errorf("after the changes, %d files arrived, or other bytes; want %d", len(got), len(want))
	}
}

// checkFailures fetches a bucket that does not exist.
func (f foreign) checkFailures(t *testing.T, variables map[string]string) {
	t.Helper()
	b := f.bucket
	b.URL, b.Root, b.Dir = "the absent bucket", "absent", t.TempDir()
	err := fetch(t.Context(), t, plan{Max: 1 << 30, Buckets: []bucket{b}}, variables)
	if err == nil || !strings.Contains(err.Error(), "the absent bucket does not exist") {
		t.Errorf("without a bucket: %v", err)
	}
}

// TestCredentialsThatAreRejected gets the errors of stores whose test servers accept all credentials.
func TestCredentialsThatAreRejected(t *testing.T) {
	for name, f := range foreignStores {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, `{"error": {"code": 403, "message": "no"}}`)
			}))
			defer server.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			b := f.bucket
			b.Dir = t.TempDir()
			err := fetch(ctx, t, plan{Max: 1 << 30, Buckets: []bucket{b}}, f.variables(strings.TrimPrefix(server.URL, "http://")))
			if err == nil || !strings.Contains(err.Error(), "the store rejects the credentials for "+b.URL) || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), azureKey) {
				t.Error(err)
			}
		})
	}
}
