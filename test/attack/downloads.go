package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// downloadAttacks are archives of outputs that try to write outside of the directory that the user
// names.
func downloadAttacks() []attack {
	dir := func(name string) *tar.Header { return &tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755} }
	link := func(name, to string) *tar.Header {
		return &tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
	}
	hard := func(name, to string) *tar.Header {
		return &tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: to}
	}
	file := func(name string) *tar.Header {
		return &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(outputText))}
	}
	return []attack{
		download("a link that leads out", []*tar.Header{link("l", "../victim"), file("f")}, "l", "out"),
		download("a hard link to a link that would lead out", []*tar.Header{dir("a/"), dir("a/b/"), link("a/b/l", "../../victim"), hard("node-1", "a/b/l"), file("f")}, "node-1", "out"),
		download("a file through a link", []*tar.Header{link("d", "."), file("d/f")}, "d/f", "out"),
		download("a file above", []*tar.Header{file("../victim/f")}, "", "out"),
		download("files of 5 GB in a small archive", []*tar.Header{{Name: "zeros", Typeflag: tar.TypeReg, Size: 5 << 30}}, "zeros", "out"),
		download("a directory that the server names", []*tar.Header{file("f")}, "../.git", ""),
		control(download("a file", []*tar.Header{file("f")}, "", "out")),
	}
}

const outputText = "#!/bin/sh"

// download lets a user download outputs from a server that sends an archive of these entries. Nothing
// outside of the directory may change, and the path absent, below the directory, may not exist. Without
// a directory, the server tries to name one by the id of the task.
func download(name string, entries []*tar.Header, absent, directory string) attack {
	return scene("download: "+name, "nothing outside of the directory", func(ctx context.Context, w *environment) error {
		archive, err := archiveOf(entries)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(archive)
		id := "abcd1234"
		if directory == "" {
			id = ".git"
		}
		h := newHostile(nil)
		defer h.Close()
		u, err := w.loggedIn(ctx, h, false)
		if err != nil {
			return err
		}
		h.turn(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/outputs/") {
				w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:])+`"`)
				_, _ = w.Write(archive)
				return
			}
			says(fmt.Sprintf(`{"task_id":%q,"status":"completed","metadata":{"num_nodes":1,"outputs":[{"node":0,"bytes":%d,"sha256":"%x"}]}}`, id, len(archive), sum))(w, r)
		})
		if err := os.MkdirAll(filepath.Join(u.home, "victim"), 0o700); err != nil {
			return err
		}
		out, err := u.run(ctx, h, "", append([]string{"jobs", "download", "abcd1234"}, strings.Fields(directory)...)...)
		if err != nil {
			return err
		}
		if found, _ := os.ReadDir(filepath.Join(u.home, "victim")); len(found) > 0 {
			return fmt.Errorf("%v was written outside: %s", found, out)
		}
		target := filepath.Join(u.home, "out")
		if _, err := os.Lstat(filepath.Join(target, absent)); absent != "" && err == nil {
			return fmt.Errorf("%s exists: %s", absent, out)
		}
		if info, err := os.Stat(filepath.Join(target, "f")); absent == "" && directory != "" && len(entries) == 1 && entries[0].Name == "f" && (err != nil || info.Size() != int64(len(outputText))) {
			return fmt.Errorf("the file did not arrive: %w: %s", err, out)
		}
		return nil
	})
}

// archiveOf returns a gzipped archive. The content of an entry that is too large for a test is missing.
func archiveOf(entries []*tar.Header) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, header := range entries {
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if header.Size == int64(len(outputText)) {
			if _, err := w.Write([]byte(outputText)); err != nil {
				return nil, err
			}
		}
	}
	if err := w.Flush(); err != nil && !strings.Contains(err.Error(), "missed writing") {
		return nil, err
	}
	err := z.Close()
	return b.Bytes(), err
}
