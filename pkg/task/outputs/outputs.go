// Package outputs describes the outputs of tasks. These are the files that the nodes of a task
// leave behind, and that the server stores until the task leaves the history. A node packs its
// outputs into one archive, a gzipped tar file, when its scripts have ended.
package outputs

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Dir is where a node packs its outputs, in an empty volume of its pod.
const Dir = "/k8s-cli-outputs"

// Grace is the time after the end of a task during which its nodes may still send outputs. The
// nodes of a stopped task send their outputs in the grace period of their pods.
const Grace = 10 * time.Minute

const (
	maxPaths = 20   // paths of one task
	maxPath  = 1024 // bytes of a path
)

// A Stored is a fact: the server stored the outputs of one node, or the outputs could not be
// stored.
type Stored struct {
	ID   string `json:"id"` // of the task
	Rank int    `json:"rank"`
	Pod  string `json:"pod,omitempty"` // UID of the pod that sent the outputs
	Archive
	Error string `json:"error,omitempty"` // why there is no archive, as a sentence for the user; Archive is empty then

	// Largest size of all outputs of the user together, in bytes, by the configuration of the
	// server that stored the archive; 0 means no limit. Therefore even two servers that store
	// archives at once do not exceed the limit.
	Quota int64 `json:"quota,omitempty"`
}

// An Archive is a stored archive of outputs.
type Archive struct {
	Object  string   `json:"object,omitempty"`  // name of the stored data; empty if none of the paths existed
	Size    int64    `json:"size,omitempty"`    // bytes
	Sum     string   `json:"sum,omitempty"`     // SHA-256, hexadecimal
	Missing []string `json:"missing,omitempty"` // paths of the task that did not exist on the node
}

// A Record is the state of the outputs of one node according to the log. If the node started
// again, the archive is the last one that was stored, and Error is about the last attempt.
type Record struct {
	Rank int    `json:"rank"`
	Pod  string `json:"pod,omitempty"` // UID of the pod that sent the outputs last
	Archive
	Error string `json:"error,omitempty"`
}

// An Output describes the outputs of one node in the status of a task.
type Output struct {
	Node    int      `json:"node"`
	Size    int64    `json:"bytes"`             // size of the archive; may be 0
	Sum     string   `json:"sha256,omitempty"`  // of the archive
	Missing []string `json:"missing,omitempty"` // paths that did not exist
	Error   string   `json:"error,omitempty"`   // why the outputs were not stored
}

// Put returns the records with the fact applied, by rank. Put does not change all.
func Put(all []Record, f Stored) []Record {
	at, found := find(all, f.Rank)
	next := Record{Rank: f.Rank, Pod: f.Pod, Archive: f.Archive, Error: f.Error}
	if !found {
		return slices.Insert(slices.Clone(all), at, next)
	}
	if f.Error != "" {
		next.Archive = all[at].Archive
	}
	all = slices.Clone(all)
	all[at] = next
	return all
}

func find(all []Record, rank int) (at int, found bool) {
	return slices.BinarySearchFunc(all, rank, func(r Record, rank int) int { return r.Rank - rank })
}

// Of returns the record of one node or the zero Record.
func Of(all []Record, rank int) Record {
	if at, found := find(all, rank); found {
		return all[at]
	}
	return Record{Rank: rank}
}

// Size returns the size of all archives in bytes.
func Size(all []Record) (bytes int64) {
	for _, r := range all {
		bytes += r.Size
	}
	return bytes
}

// Describe returns the outputs of a task of this number of nodes for its status. completed means
// that every node ended with success, and therefore had time to send its outputs.
func Describe(all []Record, nodes int, completed bool) []Output {
	described := make([]Output, 0, len(all))
	for rank := range nodes {
		at, found := find(all, rank)
		switch {
		case found:
			r := all[at]
			described = append(described, Output{rank, r.Size, r.Sum, r.Missing, r.Error})
		case completed:
			described = append(described, Output{Node: rank, Error: notReceived})
		}
	}
	return described
}

const notReceived = "the server received no outputs from the node; the last lines of its log say why"

var positionList = regexp.MustCompile(`^[0-9]+(,[0-9]+)*$`)

// Missing returns the paths at these positions in paths, which a node names as "0,2".
func Missing(paths []string, positions string) ([]string, error) {
	if positions == "" {
		return nil, nil
	}
	if !positionList.MatchString(positions) {
		return nil, fmt.Errorf("%q is not a list of numbers, separated by commas", positions)
	}
	var missing []string
	for text := range strings.SplitSeq(positions, ",") {
		at, err := strconv.Atoi(text)
		if err != nil || at >= len(paths) || len(missing) == len(paths) {
			return nil, fmt.Errorf("the task has %d outputs", len(paths))
		}
		missing = append(missing, paths[at])
	}
	return missing, nil
}

// Check returns an error for the first path that cannot be an output of a task. reserved reports
// whether k8s-cli uses a path itself.
func Check(paths []string, reserved func(clean string) bool) error {
	if len(paths) > maxPaths {
		return fmt.Errorf("%d paths exceed the limit of %d; name a directory that contains the files", len(paths), maxPaths)
	}
	for i, p := range paths {
		if err := check(p, reserved); err != nil {
			return fmt.Errorf("%q %w", p, err)
		}
		for _, other := range paths[:i] {
			if contains(p, other) || contains(other, p) {
				return fmt.Errorf("%q overlaps %q; list only the outer path", p, other)
			}
		}
	}
	return nil
}

// contains reports whether a path is the same as another path, or below the other path.
func contains(p, other string) bool {
	p, other = path.Clean(p), path.Clean(other)
	relative := func(p string) bool { return !strings.HasPrefix(p, "/") && p != "~" && !strings.HasPrefix(p, "~/") }
	return p == other || strings.HasPrefix(p, other+"/") || other == "." && relative(p)
}

func check(p string, reserved func(clean string) bool) error {
	switch {
	case p == "":
		return fmt.Errorf("is empty; name a file or a directory")
	case len(p) > maxPath:
		return fmt.Errorf("has %d bytes, more than the limit of %d", len(p), maxPath)
	case strings.ContainsAny(p, "\x00\n\r"):
		return fmt.Errorf("contains a NUL character or a line break")
	case path.Clean(p) == "/":
		return fmt.Errorf("is the whole file system of the container; name a directory")
	case strings.HasPrefix(p, "~") && p != "~" && !strings.HasPrefix(p, "~/"):
		return fmt.Errorf("begins with ~; write ~/ for the home directory, or ./~ for a file of this name")
	case slices.Contains(strings.Split(p, "/"), ".."):
		return fmt.Errorf("contains ..; write an absolute path instead")
	case reserved(path.Clean(p)):
		return fmt.Errorf("is reserved for the files of k8s-cli; choose another path")
	}
	return nil
}
