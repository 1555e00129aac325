// Package bucket describes the buckets of a task: which object stores the server supports, the forms
// of buckets in a task file, and how rclone, which moves the data, names the buckets.
package bucket

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Dir contains a directory for each bucket of a task, in the containers of the task.
const Dir = "/k8s-cli-buckets"

// The modes of a bucket, as in SkyPilot.
const (
	Copy        = "COPY"         // the node gets a copy; what the task writes stays on the node
	Mount       = "MOUNT"        // as Copy, and files that the task closes are sent to the bucket
	MountCached = "MOUNT_CACHED" // the same as Mount
)

// Modes lists the modes.
var Modes = []string{Copy, Mount, MountCached}

const maxBuckets = 20 // of one task

// Mounts contains the buckets of a task by the paths of the containers: /path or ~/path.
type Mounts map[string]Source

// A Source is the bucket at one path of the containers of a task.
type Source struct {
	URL  string `json:"url"`            // s3://BUCKET/PREFIX, or another form of a store
	Mode string `json:"mode,omitempty"` // empty means Copy

	// Create says that each node creates the bucket if the bucket does not exist, and copies the
	// uploads at the path of the bucket, and below, to the bucket before the node fetches the bucket.
	Create bool `json:"create,omitempty"`
}

// IsURL reports whether the source of a file mount is a URL instead of a local path.
func IsURL(source string) bool { return strings.Contains(source, "://") }

// Check returns an error for the first bucket that the server does not support. checkPath returns an
// error if files cannot be put at a path. taken holds the paths of volumes and of other files.
func (m Mounts) Check(checkPath func(string) error, taken map[string]bool) error {
	if len(m) > maxBuckets {
		return fmt.Errorf("file_mounts: %d buckets exceed the limit of %d", len(m), maxBuckets)
	}
	for _, target := range m.Paths() {
		if err := checkPath(target); err != nil {
			return fmt.Errorf("file_mounts: %w", err)
		}
		if outer, found := m.Around(path.Dir(target)); found {
			return fmt.Errorf("file_mounts.%s: is inside %q, where another bucket is; choose another path", target, outer)
		}
		if taken[target] {
			return fmt.Errorf("file_mounts.%s: a volume or an upload has the same path; choose another path", target)
		}
		if err := m[target].check(); err != nil {
			return fmt.Errorf("file_mounts.%s: %w", target, err)
		}
	}
	return nil
}

// Around returns the path of the bucket at p or above p.
func (m Mounts) Around(p string) (target string, found bool) {
	for ; ; p = path.Dir(p) {
		if _, found := m[p]; found {
			return p, true
		}
		if p == "/" || p == "." {
			return "", false
		}
	}
}

// Gets reports whether an upload at p is for a bucket, and not for the container itself.
func (m Mounts) Gets(p string) bool {
	target, found := m.Around(p)
	return found && m[target].Create
}

func (s Source) check() error {
	r, err := ParseURL(s.URL)
	switch {
	case err != nil:
		return err
	case s.Mode != "" && !slices.Contains(Modes, s.Mode):
		return wrongMode(s.Mode)
	case s.Create:
		return r.checkCreate()
	}
	return nil
}

func wrongMode(mode string) error {
	return fmt.Errorf("mode %q is not one of COPY, MOUNT and MOUNT_CACHED", mode)
}

// checkCreate returns an error if a node cannot create the bucket.
func (r Remote) checkCreate() error {
	switch {
	case r.external:
		return errors.New("the server creates no buckets in this store; create the bucket, and name it by its URL in source")
	case strings.Contains(r.Root, "/"):
		return errors.New("a bucket to create has no prefix; remove the prefix")
	}
	return nil
}

// Sends reports whether the node sends changed files to the bucket.
func (s Source) Sends() bool { return s.Mode == Mount || s.Mode == MountCached }

// Send reports whether a node sends changed files to one of the buckets.
func (m Mounts) Send() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(m)), Source.Sends)
}

// Paths returns the paths of the buckets in order. The bucket at the n-th path is in the n-th directory
// below Dir.
func (m Mounts) Paths() []string { return slices.Sorted(maps.Keys(m)) }

// Variables returns the names of the variables that the buckets use, in order: those of
// credentials, and all others.
func (m Mounts) Variables() (credentials, settings []string) {
	for _, s := range m {
		r, err := ParseURL(s.URL)
		if err != nil {
			continue
		}
		for _, names := range r.Credentials {
			credentials = append(credentials, names...)
		}
		for _, names := range r.Settings {
			settings = append(settings, names...)
		}
	}
	slices.Sort(credentials)
	slices.Sort(settings)
	return slices.Compact(credentials), slices.Compact(settings)
}

// Target returns the path of a bucket for a path in a task file: a relative path is below base.
func Target(base, p string) string {
	if !strings.HasPrefix(p, "/") && p != "~" && !strings.HasPrefix(p, "~/") {
		p = base + "/" + p
	}
	return path.Clean(p)
}
