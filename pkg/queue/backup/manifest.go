package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s-cli/pkg/queue/streams"
)

// manifestFile describes a backup. Write writes the manifest last, so that a directory without
// a manifest is no backup.
const manifestFile = "backup.json"

// A manifest lists the copies of a backup in the order of streams.All.
type manifest struct {
	Created time.Time `json:"created"`
	Streams []Stream  `json:"streams"`
}

// A Stream is the copy of one stream.
type Stream struct {
	Name   string          `json:"name"`
	Config json.RawMessage `json:"config"`
	State  State           `json:"state"`
	Bytes  int64           `json:"bytes"`  // of the file, which is compressed
	SHA256 string          `json:"sha256"` // of the file, hexadecimal
}

// A State is the part of the state of a stream that a backup needs.
type State struct {
	Messages uint64 `json:"messages"`
	FirstSeq uint64 `json:"first_seq"`
	LastSeq  uint64 `json:"last_seq"`
}

// file returns the path of the copy, in the format of JetStream.
func (s Stream) file(dir string) string { return filepath.Join(dir, s.Name+".s2") }

// verify compares the file of the copy with the manifest.
func (s Stream) verify(dir string) error {
	f, err := os.Open(s.file(dir))
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != s.SHA256 {
		return fmt.Errorf("%s differs from its SHA-256 in %s: the file is damaged; use another backup", f.Name(), manifestFile)
	}
	return nil
}

// makeEmpty creates dir, which must not contain files.
func makeEmpty(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	files, err := os.ReadDir(dir)
	if err == nil && len(files) > 0 {
		return fmt.Errorf("directory %s is not empty; name a new directory for the backup", dir)
	}
	return err
}

// store writes the manifest, which completes the backup.
func (m manifest) store(dir string) error {
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, manifestFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(raw, '\n'))
	return errors.Join(err, f.Sync(), f.Close(), syncDir(dir))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// load reads and verifies a backup.
func load(dir string) (m manifest, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if errors.Is(err, os.ErrNotExist) {
		return m, fmt.Errorf("%s has no %s: the directory is no backup, or the backup did not finish", dir, manifestFile)
	}
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil {
		return m, fmt.Errorf("read %s in %s: %w", manifestFile, dir, err)
	}
	for _, s := range m.Streams {
		if !slices.Contains(streams.All, s.Name) {
			return m, fmt.Errorf("the backup contains stream %s, which this release does not know; restore the backup with the release that made it", s.Name)
		}
		if err := s.verify(dir); err != nil {
			return m, err
		}
	}
	return m, nil
}
