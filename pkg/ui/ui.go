// Package ui holds the pages of the dashboard. The files of the pages are embedded in the
// program; a build needs nothing but Go. The package knows nothing of HTTP servers: Find
// returns a file with its headers.
package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

//go:embed all:static
var embedded embed.FS

const (
	// Root is the path of the pages.
	Root = "/ui/"

	assets = Root + "assets/"
	index  = "index.html"
	// terminal is the document of the terminals: a document of its own, because the emulator of
	// the terminal writes styles into the document. js/adoptstyles.js turns these styles into
	// adopted style sheets, so that no policy has to allow inline styles.
	terminal      = "terminal.html"
	terminalPages = Root + "terminal/"
	// devAssets is the text in index.html that New replaces with the path of the assets.
	devAssets = assets + "dev/"

	hashLength = 16 // hexadecimal digits of the hash in the path of the assets

	immutable  = "public, max-age=31536000, immutable"
	revalidate = "no-cache"
)

// The Content-Security-Policies of the pages: they load nothing from other hosts and allow no
// inline scripts and no inline styles. Only pages of the same origin may show the terminal.
const (
	sources        = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; "
	pagePolicy     = sources + "frame-src 'self'; frame-ancestors 'none'"
	terminalPolicy = sources + "frame-ancestors 'self'"
)

// types maps the extension of a file to its content type.
var types = map[string]string{
	".html":  "text/html; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".mjs":   "text/javascript; charset=utf-8",
	".css":   "text/css; charset=utf-8",
	".svg":   "image/svg+xml",
	".json":  "application/json",
	".map":   "application/json",
	".txt":   "text/plain; charset=utf-8",
	".png":   "image/png",
	".ico":   "image/x-icon",
	".woff2": "font/woff2",
}

// A File is one file of the pages with its headers.
type File struct {
	Type         string // Content-Type
	ETag         string
	CacheControl string
	Policy       string // Content-Security-Policy
	Body         []byte
	Gzip         []byte // compressed body; nil if compression saves nothing
}

// A Site finds the files of the pages. The caller must not modify the files.
type Site struct {
	files  map[string]File
	prefix string // path of the assets, with the hash of all files

	dir string // directory that is read again for each request; empty for the embedded files
}

// New returns the embedded pages.
func New() (*Site, error) {
	files, err := fs.Sub(embedded, "static")
	if err != nil {
		return nil, err
	}
	return load(files)
}

// FromDir returns pages that are read from a directory for each request.
func FromDir(dir string) (*Site, error) {
	if _, err := load(os.DirFS(dir)); err != nil {
		return nil, err
	}
	return &Site{dir: dir}, nil
}

// Find returns the file for the path of a request below Root. Every path outside the
// assets is a page, and all pages but the terminals are the same file: the script of the page
// reads the path.
func (s *Site) Find(request string) (File, bool) {
	if s.dir != "" {
		now, err := load(os.DirFS(s.dir))
		if err != nil {
			return File{}, false // a file is being edited
		}
		f, ok := now.Find(request)
		f.CacheControl = revalidate
		return f, ok
	}
	rest, isAsset := strings.CutPrefix(request, assets)
	if strings.HasPrefix(request, terminalPages) {
		f, ok := s.files[terminal]
		return f, ok
	}
	if !isAsset {
		return s.files[index], strings.HasPrefix(request, Root)
	}
	_, name, _ := strings.Cut(rest, "/")
	f, ok := s.files[name]
	if ok && !strings.HasPrefix(request, s.prefix) {
		f.CacheControl = revalidate // another release named the file
	}
	return f, ok && path.Ext(name) != ".html"
}

// load reads and compresses all files.
func load(from fs.FS) (*Site, error) {
	s := &Site{files: map[string]File{}}
	sum := sha256.New()
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !served(name) {
			return err
		}
		body, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		kind, ok := types[path.Ext(name)]
		if !ok {
			return fmt.Errorf("%s: the extension has no content type; add one to types in pkg/ui", name)
		}
		fmt.Fprintf(sum, "%s\x00%d\x00%s", name, len(body), body)
		s.files[name] = File{Type: kind, Body: body, CacheControl: immutable, Policy: pagePolicy}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.prefix = assets + hex.EncodeToString(sum.Sum(nil))[:hashLength] + "/"
	if _, ok := s.files[index]; !ok {
		return nil, fmt.Errorf("the pages have no %s", index)
	}
	for name, page := range s.files {
		if path.Ext(name) != ".html" {
			continue
		}
		page.Body = bytes.ReplaceAll(page.Body, []byte(devAssets), []byte(s.prefix))
		page.CacheControl = revalidate
		if name == terminal {
			page.Policy = terminalPolicy
		}
		s.files[name] = page
	}
	for name, f := range s.files {
		tag := sha256.Sum256(f.Body)
		f.ETag = `W/"` + hex.EncodeToString(tag[:])[:hashLength] + `"`
		f.Gzip = compress(f.Body)
		s.files[name] = f
	}
	return s, nil
}

// served reports whether a file is for browsers: not hidden, and no note for developers.
func served(name string) bool {
	base := path.Base(name)
	return !strings.HasPrefix(base, ".") && !strings.HasSuffix(base, ".md") && !strings.HasSuffix(base, ".sha256")
}

// compress returns body compressed, or nil if compression saves nothing.
func compress(body []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil
	}
	if _, err := w.Write(body); err != nil || w.Close() != nil || out.Len() >= len(body) {
		return nil
	}
	return out.Bytes()
}
