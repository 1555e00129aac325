package client

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// TestUploadFiles checks that one call packs and uploads the local files of a task, and that
// archives that the server has are not sent again.
func TestUploadFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"train.py", "config.yaml"} {
		must.Write(t, filepath.Join(dir, name), name)
	}
	stored, names := map[string]bool{}, []string(nil)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sum, found := strings.CutPrefix(r.URL.Path, "/uploads/")
		switch {
		case !found:
			_, _ = io.WriteString(w, `{"max_bytes": 1000000}`)
		case r.Method == http.MethodPut:
			stored[sum] = true
			names = append(names, namesIn(t, r.Body)...)
		case !stored[sum]:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	spec := task.Spec{Name: "train", Run: "python train.py", Workdir: dir, FileMounts: map[string]string{"/etc/config.yaml": filepath.Join(dir, "config.yaml")}}
	for range 2 {
		got, err := c.UploadFiles(t.Context(), spec)
		must.Succeed(t, err)
		if got.Workdir != task.WorkdirTarget || got.FileMounts != nil || len(got.Uploads) != 2 || !stored[got.Uploads[task.WorkdirTarget]] || !stored[got.Uploads["/etc/config.yaml"]] {
			t.Errorf("the task to submit is %+v", got)
		}
	}
	slices.Sort(names)
	if want := []string{"./", task.SingleFile, "config.yaml", "train.py"}; !slices.Equal(names, want) {
		t.Errorf("uploaded %q, want %q", names, want)
	}
	spec.FileMounts = map[string]string{"/etc/config.yaml": filepath.Join(dir, "nosuch")}
	if _, err := c.UploadFiles(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "does not exist on this machine") {
		t.Errorf("a file that does not exist: %v", err)
	}
}

func namesIn(t *testing.T, r io.Reader) (names []string) {
	t.Helper()
	zip, err := gzip.NewReader(r)
	if err != nil {
		t.Error(err)
		return nil
	}
	for archive := tar.NewReader(zip); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Error(err)
			return names
		}
		names = append(names, h.Name)
	}
}
