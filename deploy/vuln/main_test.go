package main

import (
	"cmp"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// modules are directories of modules in this repository.
var modules = []string{"../..", "../bucket", "../image", "../local", "../release", "."}

func local(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("testdata/db")
	if err != nil {
		t.Fatal(err)
	}
	return "file://" + dir
}

func TestFindings(t *testing.T) {
	remote := httptest.NewServer(http.HandlerFunc(compressed))
	defer remote.Close()
	for _, database := range []string{local(t), remote.URL} {
		for _, tt := range []struct {
			module, want string
			code         int
		}{
			{"testdata/uses", "GO-2026-9999", found},
			{"testdata/clean", "no vulnerable package is imported", 0},
		} {
			var out strings.Builder
			if code := run(t.Context(), database, []string{tt.module}, &out); code != tt.code || !strings.Contains(out.String(), tt.want) {
				t.Errorf("%s by %s: exit code %d, want %d and %q in:\n%s", tt.module, database, code, tt.code, tt.want, out.String())
			}
		}
	}
}

// compressed serves the tests' database with compression, as vuln.go.dev does.
func compressed(w http.ResponseWriter, r *http.Request) {
	content, err := os.ReadFile(filepath.Join("testdata/db", filepath.FromSlash(strings.TrimSuffix(r.URL.Path, ".gz"))))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	z := gzip.NewWriter(w)
	_, _ = z.Write(content)
	_ = z.Close()
}

func TestDatabaseThatCannotBeReached(t *testing.T) {
	empty := httptest.NewServer(http.NotFoundHandler())
	closed := httptest.NewServer(nil)
	closed.Close()
	defer empty.Close()
	for _, database := range []string{"file:///nowhere", empty.URL, closed.URL, "https://\x7f"} {
		var out strings.Builder
		if code := run(t.Context(), database, []string{"testdata/clean"}, &out); code != unreachable || !strings.Contains(out.String(), "VULN_DB=") {
			t.Errorf("%q: exit code %d: %s", database, code, out.String())
		}
	}
}

func TestModulesThatCannotBeScanned(t *testing.T) {
	var out strings.Builder
	if code := run(t.Context(), local(t), []string{t.TempDir()}, &out); code != found || !strings.Contains(out.String(), "scan: ") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}

// TestNoKnownVulnerabilities checks that the modules have no vulnerability in the
// database.
func TestNoKnownVulnerabilities(t *testing.T) {
	database := cmp.Or(os.Getenv("VULN_DB"), defaultDatabase)
	if err := reach(t.Context(), database); err != nil {
		t.Skip("no vulnerability database answers at " + database + "; VULN_DB names another one")
	}
	var out strings.Builder
	if code := run(t.Context(), database, modules, &out); code != 0 {
		t.Errorf("exit code %d:\n%s", code, out.String())
	}
}
