package task

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// The volumes that a task mounts.

func (s Spec) checkVolumes() error {
	if n := len(s.Volumes) + len(s.Ephemeral); n > maxMounts {
		return fmt.Errorf("volumes: %d mounts exceed the limit of %d", n, maxMounts)
	}
	for _, dir := range ordered(s.SubPaths) {
		if err := s.checkSubPath(dir); err != nil {
			return err
		}
	}
	mounted := mountPaths{}
	for _, dir := range ordered(s.Volumes) {
		if err := mounted.add(dir); err != nil {
			return err
		}
		if volume := s.Volumes[dir]; !IsSubdomain(volume) {
			return fmt.Errorf("volumes.%s: %s is not a valid name of a volume or claim", dir, Quote(volume))
		}
	}
	for _, dir := range ordered(s.Ephemeral) {
		if err := mounted.add(dir); err != nil {
			return err
		}
		if err := s.Ephemeral[dir].check(); err != nil {
			return fmt.Errorf("volumes.%s.%w", dir, err)
		}
	}
	return nil
}

func (s Spec) checkSubPath(dir string) error {
	sub := s.SubPaths[dir]
	if _, ok := s.Volumes[dir]; !ok {
		return fmt.Errorf("sub_paths: no volume is mounted at %s; name one under volumes", Quote(dir))
	}
	if path.IsAbs(sub) || sub == "" || len(sub) > maxName || slices.Contains(strings.Split(sub, "/"), "..") {
		return fmt.Errorf("volumes.%s.sub_path: %s must be a relative path without .. inside the volume", dir, Quote(sub))
	}
	return noNUL("volumes", sub)
}

// mountPaths maps the cleaned mount paths in use to the paths as written.
type mountPaths map[string]string

func (m mountPaths) add(dir string) error {
	clean := path.Clean(dir)
	switch {
	case !strings.HasPrefix(dir, "/"):
		return fmt.Errorf("volumes: mount path %s is not absolute; begin it with /", Quote(dir))
	case clean == "/" || strings.Contains(dir, ":") || len(dir) > maxName:
		return fmt.Errorf("volumes: %s is not a valid mount path", Quote(dir))
	case isReserved(clean):
		return fmt.Errorf("volumes: %q is reserved for the files of k8s-cli; choose another path", dir)
	case m[clean] != "":
		return fmt.Errorf("volumes: %s and %s are the same mount path; remove one of them", Quote(m[clean]), Quote(dir))
	}
	m[clean] = dir
	return noNUL("volumes", dir)
}

func (e Ephemeral) check() error {
	if err := checkClaim(e.Size, e.StorageClass); err != nil {
		return err
	}
	if e.AccessMode != "" {
		if err := CheckAccessMode(e.AccessMode); err != nil {
			return fmt.Errorf("access_mode: %w", err)
		}
	}
	return checkLabels("labels", e.Labels)
}

// Mode returns the access mode of the volume.
func (e Ephemeral) Mode() string {
	if e.AccessMode == "" {
		return "ReadWriteOnce"
	}
	return e.AccessMode
}

// checkClaim returns an error if the size or the storage class of a volume is invalid.
func checkClaim(size string, class *string) error {
	if size == "" {
		return errors.New("size: a volume needs a size, for example 10Gi")
	}
	if err := checkSize(size); err != nil {
		return fmt.Errorf("size: %w", err)
	}
	if class != nil {
		if err := CheckStorageClass(*class); err != nil {
			return fmt.Errorf("storage_class: %w", err)
		}
	}
	return nil
}

// CheckStorageClass returns an error if name is not a valid name of a storage class. An
// empty name means no storage class.
func CheckStorageClass(name string) error {
	if name != "" && !IsSubdomain(name) {
		return fmt.Errorf("%s is not a valid name of a storage class", Quote(name))
	}
	return nil
}

// CheckAccessMode returns an error if mode is not an access mode of Kubernetes.
func CheckAccessMode(mode string) error {
	if !slices.Contains(AccessModes, mode) {
		return fmt.Errorf("%s is not one of %s", Quote(mode), strings.Join(AccessModes, ", "))
	}
	return nil
}
