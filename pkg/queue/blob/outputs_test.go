package blob

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// Outputs have a bucket of their own with a limit, and a store that is full says so.
func TestOutputStore(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	uploads, err := files.OpenUploadStore(t.Context())
	must.Succeed(t, err)
	outputs, err := files.OpenOutputStore(t.Context(), 2<<20)
	must.Succeed(t, err)
	content := noise(600 << 10)
	if size, err := outputs.Store(t.Context(), "ann/a/0/x", bytes.NewReader(content)); err != nil || size != int64(len(content)) {
		t.Fatalf("%d bytes, %v", size, err)
	}
	if ok, err := uploads.Exists(t.Context(), "ann/a/0/x"); ok || err != nil {
		t.Errorf("the outputs are an upload: %v, %v", ok, err)
	}
	if _, err := outputs.Store(t.Context(), "ann/a/1/x", bytes.NewReader(noise(3<<20))); !errors.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "--max-outputs-total") {
		t.Errorf("a full store: %v", err)
	}
	if got, err := io.ReadAll(outputs.Open(t.Context(), "ann/a/0/x")); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
