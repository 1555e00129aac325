//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s-cli/deploy/local/build"
	"k8s-cli/deploy/local/layout"
)

// settings is the file that marks a directory as a state directory.
type settings struct {
	Layout layout.Layout   `json:"layout"`
	Kit    build.Artifacts `json:"kit"`
}

// stateNames lists all files of a cluster, except its logs. The commands do not touch other
// files in the directory, which may contain the directory of another cluster.
var stateNames = []string{"kubeconfig", "bin", "config", "containerd", "etcd", "kubelet", "pki", "pki.new", "pod-links", "pod-logs", "volumes"}

// stored returns the settings of the cluster in dir; the error is fs.ErrNotExist if dir
// contains no cluster.
func stored(path string) (settings, error) {
	var s settings
	b, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("read %s: %w", path, err)
	}
	return s, nil
}

// store writes the settings. Call store before any other file is written.
func (s settings) store() error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	path := s.Layout.Settings()
	if err := os.WriteFile(path+".new", append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// claim returns an error unless l.Dir contains a cluster like l, or no file that a cluster
// would overwrite.
func claim(l layout.Layout) error {
	old, err := stored(l.Settings())
	if err == nil {
		return same(old.Layout, l)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range stateNames {
		if _, err := os.Lstat(l.Path(name)); err == nil {
			return fmt.Errorf("%s exists and belongs to no cluster; remove it or choose another --dir", l.Path(name))
		}
	}
	logs, _ := filepath.Glob(l.Log("*")) // of an earlier cluster
	for _, log := range logs {
		_ = os.Remove(log)
	}
	return nil
}

// intact reports whether the files of a running cluster still exist.
func intact(l layout.Layout) bool {
	_, settings := os.Stat(l.Settings())
	_, keys := os.Stat(l.Path("pki"))
	return settings == nil && keys == nil
}

// same returns an error that names the first difference between the existing and the
// requested cluster.
func same(have, want layout.Layout) error {
	if have.Nodes == want.Nodes && have.Instance == want.Instance {
		return nil
	}
	return fmt.Errorf("the cluster in %s has --nodes %s and --instance %d; take it down first", have.Dir, have.Nodes, have.Instance)
}

// forget removes the state of a cluster. forget removes the file that marks the directory
// last, so that an interrupted removal can be repeated.
func forget(l layout.Layout) error {
	for _, name := range stateNames {
		if err := os.RemoveAll(l.Path(name)); err != nil {
			return fmt.Errorf("remove the cluster's state: %w", err)
		}
	}
	if err := os.Remove(l.Settings()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
