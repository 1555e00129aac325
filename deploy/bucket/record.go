package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A version identifies the content of a file on the node.
type version struct {
	Size    int64     `json:"size"`
	ModTime time.Time `json:"modified"`
}

// A stored is an entry of a record: the bucket holds an object with the content of this version of the
// file. If Intent is set, the bucket may hold an object with this content.
type stored struct {
	Path   string    `json:"path"` // relative to the directory of the bucket
	Local  version   `json:"local,omitzero"`
	Remote time.Time `json:"remote,omitzero"`  // time of the object by the clock of the store
	Intent string    `json:"intent,omitempty"` // hash of the content that the program is about to send
}

// matches reports whether an object has not changed since the node read or wrote it. matches compares
// times in seconds, because some requests return the time of an object in seconds only.
func (s stored) matches(size int64, at time.Time) bool {
	return s.Local.Size == size && s.Remote.Truncate(time.Second).Equal(at.Truncate(time.Second))
}

// A record lists the files that are in the bucket. The record is a file of entries; the last entry for a
// path counts, and the intents after it. A program that starts again reads the record, and continues
// where its predecessor stopped.
type record struct {
	file    *os.File
	entries map[string]stored
	intents map[string][]string // hashes by path
}

// openRecord reads the record at path; a record that does not exist is empty. If the program was killed
// while it wrote an entry, openRecord removes the incomplete line.
func openRecord(path string) (*record, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	r := &record{file: file, entries: map[string]stored{}, intents: map[string][]string{}}
	complete := int64(0)
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return r, file.Truncate(complete)
		}
		var s stored
		if err == nil {
			err = json.Unmarshal(line, &s)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s, which lists the files that are stored: %w", path, err)
		}
		complete += int64(len(line))
		r.apply(s)
	}
}

func (r *record) apply(s stored) {
	if s.Intent != "" {
		r.intents[s.Path] = append(r.intents[s.Path], s.Intent)
		return
	}
	r.entries[s.Path] = s
	delete(r.intents, s.Path)
}

func (r *record) add(s stored) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	r.apply(s)
	_, err = r.file.Write(append(raw, '\n'))
	return err
}

// intend records that the program is about to send content with this hash. If the program is killed
// before it records the object, its successor recognizes the object by the hash.
func (r *record) intend(path, hash string) error {
	if hash == "" || slices.Contains(r.intents[path], hash) {
		return nil
	}
	return r.add(stored{Path: path, Intent: hash})
}

func (r *record) close() error { return r.file.Close() }

// recordCopies records the files below dir as copies of the objects in the bucket. The time of a copy
// is that of its object.
func recordCopies(dir, path string) error {
	r, err := openRecord(path)
	if err != nil {
		return err
	}
	files, err := filesBelow(dir)
	for _, f := range files {
		err = errors.Join(err, r.add(stored{Path: f.path, Local: f.version, Remote: f.ModTime}))
	}
	return errors.Join(err, r.close())
}

// A file is a regular file below the directory of a bucket.
type file struct {
	path string
	version
}

// filesBelow returns the regular files below dir, the oldest first.
func filesBelow(dir string) ([]file, error) {
	var all []file
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // the task has removed the file since
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			all = append(all, file{strings.TrimPrefix(path, dir+"/"), version{info.Size(), info.ModTime()}})
		}
		return err
	})
	slices.SortStableFunc(all, func(a, b file) int { return a.ModTime.Compare(b.ModTime) })
	return all, err
}

// changed returns the files that differ from the record.
func (r *record) changed(files []file) []file {
	return slices.DeleteFunc(files, func(f file) bool {
		known, found := r.entries[f.path]
		return found && known.Local.Size == f.Size && known.Local.ModTime.Equal(f.ModTime)
	})
}
