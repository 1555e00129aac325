package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/api/archive"
	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/queue"
	"k8s-cli/pkg/queue/blob"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/natsserver"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// stored runs a server whose log and uploads are in an embedded NATS.
func stored(t *testing.T, change func(*Uploads)) (*served, *cache.Store) {
	t.Helper()
	s, store, _ := storedWith(t, func(c *Config) {
		if change != nil {
			change(&c.Uploads)
		}
	})
	return s, store
}

// A slow machine exceeds the limit of the product.
func init() { natsconn.RequestTimeout = time.Minute }

// storedWith is stored with changed settings, and also returns the connections to NATS.
func storedWith(t *testing.T, change func(*Config)) (*served, *cache.Store, []*natsconn.Conn) {
	t.Helper()
	var connections []*natsconn.Conn
	nats, err := natsserver.Start(natsserver.Config{Dir: t.TempDir()})
	must.Succeed(t, err)
	t.Cleanup(nats.Close)
	connect := func() *natsconn.Conn {
		nc, err := nats.Connect()
		must.Succeed(t, err)
		t.Cleanup(nc.Close)
		connections = append(connections, nc)
		return nc
	}
	nc := connect()
	log, err := queue.Open(t.Context(), nc, queue.Config{SingleWriter: true, AppendTimeout: 5 * time.Minute})
	must.Succeed(t, err)
	files, err := blob.NewFiles(connect(), streams.Settings{})
	must.Succeed(t, err)
	uploadStore, err := files.OpenUploadStore(t.Context())
	must.Succeed(t, err)
	outputStore, err := files.OpenOutputStore(t.Context(), 64<<20)
	must.Succeed(t, err)
	store := cache.New()
	uploads := Uploads{Store: uploadStore, Limit: 5 << 20, Advertise: "http://server", Tokens: sealer}
	f := &fake{listen: func(task.EventQuery) (task.Subscription, error) { return silentSubscription{}, nil }}
	f.health.Ready = true
	f.store = store
	must.Run(t, func(ctx context.Context) error { return log.Run(ctx, store) })
	s := f.serve(t, func(c *Config) {
		c.Uploads, c.Preview = uploads, noObjects
		c.Outputs = archive.OutputConfig{Store: outputStore, Limit: 3 << 20, Quota: 5 << 20, Tokens: sealer}
		change(c)
	}, func(c Config) *Server { return New(log, f.readers(log), fakeHealth{f}, c) })
	return s, store, connections
}

// A silentSubscription is a Subscription without events.
type silentSubscription struct{}

func (silentSubscription) At() task.EventID { return task.EventID{} }

func (silentSubscription) Next(ctx context.Context) ([]task.Event, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func sumOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// noise returns random content of n bytes, which does not compress.
func noise(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return string(b)
}

func (s *served) upload(content string, headers ...string) string {
	s.t.Helper()
	sum := sumOf(content)
	a := s.send(http.MethodPut, "/uploads/"+sum, content, headers...)
	var got task.Uploaded
	if err := json.Unmarshal([]byte(a.body), &got); err != nil || a.StatusCode != http.StatusOK || got != task.NewUploaded(sum, int64(len(content))) {
		s.t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	return sum
}

func submissionBody(sum string) string {
	return fmt.Sprintf(`{"run": "true", "workdir": "~/sky_workdir", "uploads": {"~/sky_workdir": %q}}`, sum)
}

func TestUploadsAreTheirOwners(t *testing.T) {
	t.Parallel()
	s, _ := stored(t, nil)
	for _, size := range []int{1, 100, 200 << 10, 5 << 20} {
		content := noise(size)
		for range 2 { // a repeated upload is no error
			s.upload(content)
		}
		path := "/uploads/" + sumOf(content)
		if a := s.send(http.MethodGet, path, ""); a.StatusCode != http.StatusOK || a.body != content || a.Header.Get("ETag") != `"`+sumOf(content)+`"` {
			t.Errorf("%d bytes: %d, %d bytes, %v", size, a.StatusCode, len(a.body), a.Header)
		}
		if a := s.send(http.MethodHead, path, ""); a.StatusCode != http.StatusOK || a.ContentLength != int64(size) || a.body != "" {
			t.Errorf("head of %d bytes: %d, %d", size, a.StatusCode, a.ContentLength)
		}
		s.send(http.MethodGet, path, "", userHeader, "Ann").wantError(t, http.StatusNotFound, "not found")
		s.send(http.MethodPost, "/tasks/submit", submissionBody(sumOf(content)), userHeader, "bob").wantError(t, http.StatusConflict, "uploads: "+sumOf(content)+" is not on the server")
		s.send(http.MethodPost, "/tasks/submit", submissionBody(sumOf(content))).wantOK(t)
	}
	if a := s.send(http.MethodGet, "/uploads", ""); a.StatusCode != http.StatusOK || strings.TrimSpace(a.body) != `{"max_bytes":5242880}` {
		t.Errorf("limits: %d %s", a.StatusCode, a.body)
	}
}

func TestUploadsThatAreRefused(t *testing.T) {
	t.Parallel()
	s, _ := stored(t, nil)
	content := noise(300 << 10)
	sum := sumOf(content)
	for _, tt := range []struct {
		name, path, body string
		code             int
		says             string
	}{
		{"another content", "/uploads/" + sum, noise(300 << 10), http.StatusBadRequest, "its SHA-256 is "},
		{"a part of it", "/uploads/" + sum, content[:200<<10], http.StatusBadRequest, "of 204800 bytes does not match the SHA-256 of the URL"},
		{"a byte too much", "/uploads/" + sumOf("x"), noise(5<<20 + 1), http.StatusRequestEntityTooLarge, "5242880 bytes"},
		{"a name that is none", "/uploads/abc", "x", http.StatusUnprocessableEntity, `"abc" is not a SHA-256`},
		{"a name in capitals", "/uploads/" + strings.ToUpper(sum), content, http.StatusUnprocessableEntity, "in lower case"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.send(http.MethodPut, tt.path, tt.body).wantError(t, tt.code, tt.says)
		})
	}
	s.send(http.MethodPut, "/uploads/"+sum, content, userHeader, "-").wantError(t, http.StatusUnauthorized, userHeader)
	s.send(http.MethodGet, "/uploads/"+sum, "").wantError(t, http.StatusNotFound, "not found")
	s.raw("PUT /uploads/"+sum+" HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\nContent-Length: 9\r\n\r\nnot right", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")[1].wantOK(t)
}

func (a answered) wantOK(t *testing.T) {
	t.Helper()
	if a.StatusCode != http.StatusOK {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

// TestFilesOfATask checks that only the pods of a task get its files.
func TestFilesOfATask(t *testing.T) {
	t.Parallel()
	s, _ := stored(t, nil)
	content := noise(3 << 20)
	sum, other := s.upload(content), s.upload("other")
	id := s.submit(submissionBody(sum))
	path := "/tasks/" + id + "/files/"
	file := func(path, authorization string) answered {
		return s.send(http.MethodGet, path, "", userHeader, "-", "Authorization", authorization)
	}
	if a := file(path+sum, "Bearer "+sealer.UploadToken(id)); a.StatusCode != http.StatusOK || a.body != content {
		t.Errorf("%d, %d bytes", a.StatusCode, len(a.body))
	}
	file(path+sum, "-").wantError(t, http.StatusUnauthorized, "Authorization: ")
	file(path+sum, "Basic x").wantError(t, http.StatusUnauthorized, "Authorization: ")
	file(path+sum, "Bearer "+sealer.UploadToken("other")).wantError(t, http.StatusForbidden, "not the token of this task")
	file(path+other, "Bearer "+sealer.UploadToken(id)).wantError(t, http.StatusNotFound, "needs no upload")
	file("/uploads/"+sum, "Bearer "+sealer.UploadToken(id)).wantError(t, http.StatusUnauthorized, userHeader)
	s.send(http.MethodPost, "/tasks/"+id+"/stop", "").wantOK(t)
	file(path+sum, "Bearer "+sealer.UploadToken(id)).wantError(t, http.StatusNotFound, "or has ended")
}

// TestAServerThatTakesNoFiles checks that a server without an address for pods or without a
// key rejects uploads and names the missing flag.
func TestAServerThatTakesNoFiles(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*Uploads)
		says   string
	}{
		"without a URL": {func(u *Uploads) { u.Advertise = "" }, "--advertise-url"},
		"without a key": {func(u *Uploads) { u.Tokens = nil }, "--secrets-key-file"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := stored(t, tt.change)
			s.send(http.MethodGet, "/uploads", "").wantError(t, http.StatusUnprocessableEntity, tt.says)
			s.send(http.MethodPut, "/uploads/"+sumOf("x"), "x").wantError(t, http.StatusUnprocessableEntity, tt.says)
			s.send(http.MethodPost, "/tasks/submit", submissionBody(sumOf("x"))).wantError(t, http.StatusUnprocessableEntity, tt.says)
		})
	}
}

// TestFilesThatWereNotUploaded checks that a submission over HTTP that names local files is
// rejected.
func TestFilesThatWereNotUploaded(t *testing.T) {
	t.Parallel()
	s, _ := stored(t, nil)
	for body, says := range map[string]string{
		`{"run": "x", "workdir": "."}`:                              `workdir: "." is a local directory and must be uploaded first`,
		`{"run": "x", "workdir": {"url": "https://example.com/r"}}`: "workdir: a git repository must be checked out",
		`{"run": "x", "file_mounts": {"/a": "./b"}}`:                `file_mounts: "./b" is a local path and must be uploaded first`,
	} {
		s.send(http.MethodPost, "/tasks/submit", body).wantError(t, http.StatusBadRequest, says)
		s.send(http.MethodPost, "/tasks/submit", body).wantError(t, http.StatusBadRequest, "/uploads/SHA256")
	}
	for _, body := range []string{`{"run": "x", "workdir": "/srv"}`, `{"run": "x", "workdir": "~/code"}`, `{"run": "x", "workdir": "~"}`} {
		s.send(http.MethodPost, "/tasks/submit", body).wantOK(t)
	}
}
