package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/outputs"
	"k8s-cli/test/testkit/must"
)

// outputsOf returns an archive of one file, and its SHA-256.
func outputsOf(t *testing.T, name, content string) (archive []byte, sum string) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	_ = w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content))})
	_, _ = w.Write([]byte(content))
	must.Succeed(t, w.Close())
	must.Succeed(t, z.Close())
	digest := sha256.Sum256(b.Bytes())
	return b.Bytes(), hex.EncodeToString(digest[:])
}

// outputServer is a server with one task of so many nodes, each with outputs of its own.
func outputServer(t *testing.T, nodes int, stored ...outputs.Output) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var node int
		switch _, err := fmt.Sscanf(r.URL.Path, "/tasks/abc12345/outputs/%d", &node); {
		case r.URL.Path == "/tasks/abc12345":
			_ = json.NewEncoder(w).Encode(task.Status{ID: "abc12345", Phase: task.Completed, Metadata: task.Metadata{NumNodes: nodes, Outputs: stored}})
		case r.URL.Path == "/tasks":
			_ = json.NewEncoder(w).Encode(task.List{Tasks: []task.Status{}})
		case err != nil || node >= nodes || stored == nil:
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(task.Detail{Detail: "there are no outputs", Reason: "OutputsNotFound"})
		default:
			archive, sum := outputsOf(t, "out/rank", fmt.Sprint(node))
			if node == 7 {
				sum = strings.Repeat("0", 64)
			}
			w.Header().Set("ETag", `"`+sum+`"`)
			_, _ = w.Write(archive)
		}
	}
}

// The directory of a task of a sweep says which point of the sweep the task is.
func TestDirectoriesOfASweep(t *testing.T) {
	for point, want := range map[string]string{
		"":                              "abc12345",
		"LR=0.1 BATCH=8":                "abc12345_LR=0.1_BATCH=8",
		"DIR=../../etc/passwd":          "abc12345_DIR=.._.._etc_passwd",
		"X=" + strings.Repeat("a", 300): "abc12345_X=" + strings.Repeat("a", 98),
	} {
		s := task.Status{ID: "abc12345", Metadata: task.Metadata{Annotations: map[string]string{task.AnnotationPoint: point}}}
		if got := directoryOf(s); got != want {
			t.Errorf("%q: %q, want %q", point, got, want)
		}
	}
}

func TestDownload(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "to")
	three := outputServer(t, 3, outputs.Output{Node: 0, Size: 1, Missing: []string{"logs"}}, outputs.Output{Node: 1, Error: "it is too large"}, outputs.Output{Node: 2, Size: 1})
	code, out, errOut := runAgainst(t, three, "jobs", "download", "abc12345", dir)
	if code != 1 || out != "" || !strings.Contains(errOut, "node 0 has no logs") || !strings.Contains(errOut, "node 1: it is too large") {
		t.Errorf("exit code %d, %s%s", code, out, errOut)
	}
	for _, rank := range []string{"0", "2"} {
		if got, err := os.ReadFile(filepath.Join(dir, "node-"+rank, "out", "rank")); err != nil || string(got) != rank {
			t.Errorf("node %s: %q, %v", rank, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "node-1")); err == nil {
		t.Error("node 1 has a directory")
	}
	names := func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(task.Status{ID: ".git", Phase: task.Completed, Metadata: task.Metadata{NumNodes: 1}})
	}
	for _, tt := range []struct {
		name  string
		serve http.HandlerFunc
		args  []string
		code  int
		says  string
	}{
		{"one node", three, []string{"abc12345", dir, "--node", "2"}, 0, "Downloaded the outputs of node 2"},
		{"the same again", three, []string{"abc12345", dir, "--node", "2"}, 1, "pass --force to overwrite"},
		{"with force", three, []string{"abc12345", dir, "--node", "0", "--force"}, 0, "Downloaded"},
		{"no such node", three, []string{"abc12345", dir, "--node", "3"}, 1, "there are no outputs"},
		{"a negative node", three, []string{"abc12345", "--node", "-2"}, 2, "not the rank of a node"},
		{"no outputs", outputServer(t, 1), []string{"abc12345", dir}, 1, "there are no outputs"},
		{"another checksum", outputServer(t, 8, outputs.Output{Node: 7, Size: 1}), []string{"abc12345", dir}, 1, "repeat the command"},
		{"no such task", three, []string{"nosuchid", dir}, 102, ""},
		{"a directory that the server names", names, []string{"abc12345"}, 1, `answered about ".git"`},
		{"without an id", three, nil, 2, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, _, errOut := runAgainst(t, tt.serve, append([]string{"jobs", "download"}, tt.args...)...)
			if code != tt.code || !strings.Contains(errOut, tt.says) {
				t.Errorf("exit code %d, want %d: %s", code, tt.code, errOut)
			}
		})
	}
	if got, err := os.ReadFile(filepath.Join(dir, "out", "rank")); err != nil || string(got) != "0" {
		t.Errorf("after the downloads: %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node-7")); err == nil {
		t.Error("an archive with another checksum was unpacked")
	}
}

// TestDownloadResumes checks that a download continues after a broken connection, and starts again
// if the node has stored other outputs since.
func TestDownloadResumes(t *testing.T) {
	old, oldSum := outputsOf(t, "out", "old")
	archive, sum := outputsOf(t, "out", "new")
	for name, first := range map[string]struct {
		archive []byte
		sum     string
	}{"the same outputs": {archive, sum}, "other outputs": {old, oldSum}} {
		t.Run(name, func(t *testing.T) {
			begun := false
			serve := func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/tasks/abc12345/outputs/0" {
					outputServer(t, 1, outputs.Output{Size: 1})(w, r)
					return
				}
				if begun {
					w.Header().Set("ETag", `"`+sum+`"`)
					http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(archive))
					return
				}
				begun = true
				w.Header().Set("ETag", `"`+first.sum+`"`)
				w.Header().Set("Content-Length", strconv.Itoa(len(first.archive)))
				_, _ = w.Write(first.archive[:20])
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			dir := t.TempDir()
			code, _, errOut := runAgainst(t, serve, "jobs", "download", "abc12345", dir)
			if got, err := os.ReadFile(filepath.Join(dir, "out")); code != 0 || err != nil || string(got) != "new" {
				t.Errorf("exit code %d, %s: %q, %v", code, errOut, got, err)
			}
		})
	}
}
