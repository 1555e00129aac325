package ui

import (
	"bytes"
	"compress/gzip"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"k8s-cli/test/testkit/must"
)

func site(t *testing.T, files fstest.MapFS) *Site {
	t.Helper()
	s, err := load(files)
	must.Succeed(t, err)
	return s
}

func pages() fstest.MapFS {
	return fstest.MapFS{
		"index.html":       {Data: []byte(`<script src="/ui/assets/dev/app.js"></script>` + strings.Repeat(" ", 500))},
		"app.js":           {Data: []byte(strings.Repeat("app();\n", 100))},
		"lib/x.css":        {Data: []byte("a")},
		"vendor/README.md": {Data: []byte("notes")},
		".hidden.js":       {Data: []byte("hidden")},
	}
}

func TestPagesNameTheirAssetsByHash(t *testing.T) {
	s := site(t, pages())
	page, ok := s.Find("/ui/tasks/abc")
	if !ok || !strings.Contains(string(page.Body), s.prefix+"app.js") || page.CacheControl != revalidate {
		t.Fatalf("page %q with %q", page.Body, page.CacheControl)
	}
	for _, tt := range []struct {
		path, cache string
		found       bool
	}{
		{s.prefix + "app.js", immutable, true},
		{s.prefix + "lib/x.css", immutable, true},
		{assets + "0123456789abcdef/app.js", revalidate, true},
		{assets + "dev/app.js", revalidate, true},
		{s.prefix + "none.js", "", false},
		{s.prefix + "index.html", "", false},
		{s.prefix + "vendor/README.md", "", false},
		{s.prefix + ".hidden.js", "", false},
		{s.prefix + "../app.js", "", false},
		{assets, "", false},
		{"/tasks", "", false},
	} {
		f, ok := s.Find(tt.path)
		if ok != tt.found || ok && f.CacheControl != tt.cache {
			t.Errorf("%s: found %v with %q, want %v with %q", tt.path, ok, f.CacheControl, tt.found, tt.cache)
		}
	}
	changed := pages()
	changed["lib/x.css"].Data = []byte("b")
	if other := site(t, changed); other.prefix == s.prefix {
		t.Error("another style has the same path")
	}
}

func TestFilesAreCompressedOnlyIfThatSavesBytes(t *testing.T) {
	s := site(t, pages())
	f, _ := s.Find(s.prefix + "app.js")
	r, err := gzip.NewReader(bytes.NewReader(f.Gzip))
	must.Succeed(t, err)
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, f.Body) {
		t.Errorf("%q, %v", got, err)
	}
	if f, _ := s.Find(s.prefix + "lib/x.css"); f.Gzip != nil {
		t.Errorf("one byte became %d", len(f.Gzip))
	}
}

func TestEmbeddedPagesLoadNothingFromOtherHosts(t *testing.T) {
	s, err := New()
	must.Succeed(t, err)
	total := 0
	for name, f := range s.files {
		total += max(len(f.Gzip), min(len(f.Body), 1))
		if name == index && strings.Contains(string(f.Body), devAssets) {
			t.Errorf("%s contains %s", name, devAssets)
		}
		if name == index && (strings.Contains(string(f.Body), `src="http`) || strings.Contains(string(f.Body), `href="http`)) {
			t.Errorf("%s loads a file of another host", name)
		}
	}
	if limit := 230 << 10; total > limit { // half of it is the emulator of terminals, which only its own document loads
		t.Errorf("the pages have %d bytes compressed, more than %d", total, limit)
	}
	for name, f := range s.files {
		if strings.Contains(f.Policy, "unsafe") || !strings.Contains(f.Policy, "default-src 'none'") {
			t.Errorf("%s: the Content-Security-Policy allows inline code: %s", name, f.Policy)
		}
	}
}

func TestADirectoryIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		must.Write(t, filepath.Join(dir, name), text)
	}
	if _, err := FromDir(dir); err == nil {
		t.Error("a directory without index.html was accepted")
	}
	write("index.html", "one")
	s, err := FromDir(dir)
	must.Succeed(t, err)
	write("index.html", "two")
	if f, ok := s.Find("/ui/"); !ok || string(f.Body) != "two" || f.CacheControl != revalidate {
		t.Errorf("%q %q", f.Body, f.CacheControl)
	}
	write("strange.xyz", "")
	if _, ok := s.Find("/ui/"); ok {
		t.Error("a file of unknown type was accepted")
	}
}
