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

// settings is the file by which a state directory is known to be one.
type settings struct {
	Layout layout.Layout   `json:"layout"`
	Kit    build.Artifacts `json:"kit"`
}

// stateNames is everything a cluster keeps, except its logs. Nothing else in
// the directory is ever touched: it may hold another cluster's directory.
var stateNames = []string{"kubeconfig", "bin", "config", "containerd", "etcd", "kubelet", "pki", "pki.new", "pod-links", "pod-logs", "volumes"}

// stored returns the settings of the cluster in dir; fs.ErrNotExist if there
// is no cluster.
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

// store writes the settings before anything else is written.
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

// claim makes sure that l.Dir holds a cluster like l, or nothing that one
// would write over.
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
	logs, _ := filepath.Glob(l.Log("*")) // of a former cluster
	for _, log := range logs {
		_ = os.Remove(log)
	}
	return nil
}

// intact reports whether a running cluster still has its files.
func intact(l layout.Layout) bool {
	_, settings := os.Stat(l.Settings())
	_, keys := os.Stat(l.Path("pki"))
	return settings == nil && keys == nil
}

// same reports in which way the cluster there is not the one that is wanted.
func same(have, want layout.Layout) error {
	if have.Nodes == want.Nodes && have.Instance == want.Instance {
		return nil
	}
	return fmt.Errorf("the cluster in %s has --nodes %s and --instance %d; take it down first", have.Dir, have.Nodes, have.Instance)
}

// forget removes the state of a cluster, and last of all the file that says
// that it is one, so that an interrupted removal can be repeated.
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
