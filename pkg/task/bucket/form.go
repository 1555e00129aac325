package bucket

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A Form is the mapping that describes a bucket in a task file.
type Form struct {
	Name, Store, Mode string

	Sources    []string // the URL of a bucket, or local files
	List       bool     // Sources was a list: the bucket gets each source under its name
	Persistent bool     // true by default
}

// storeSchemes maps the values of store to the schemes of their URLs.
var storeSchemes = map[string]string{
	"s3": "s3", "gcs": "gs", "azure": "https", "r2": "r2", "ibm": "cos", "oci": "oci", "nebius": "nebius", "coreweave": "cw", "minio": "minio",
}

// Bucket returns the bucket of the form, and the local files for the bucket by their paths in the
// containers. target is the path of the bucket. The warnings say what differs from SkyPilot.
func (f Form) Bucket(target string) (s Source, local map[string]string, warnings []string, err error) {
	s.Mode = strings.ToUpper(f.Mode)
	if s.Mode == "" {
		s.Mode = Mount
	}
	scheme, known := storeSchemes[strings.ToLower(f.Store)]
	switch {
	case f.Store != "" && !known:
		return s, nil, nil, fmt.Errorf("store %q is not one of s3, gcs, azure, r2, ibm, oci, nebius, coreweave and minio; if the store has the API of S3, write s3 and set AWS_ENDPOINT_URL to the URL of the store", f.Store)
	case !slices.Contains(Modes, s.Mode):
		return s, nil, nil, wrongMode(f.Mode)
	}
	if s.Mode == Mount {
		warnings = append(warnings, "mode MOUNT uses no FUSE: each node copies the bucket before setup, and sends files some seconds after they are written and closed")
	}
	if len(f.Sources) == 1 && !f.List && IsURL(f.Sources[0]) {
		s.URL = f.Sources[0]
		return s, nil, warnings, f.checkURL(scheme)
	}
	if s.URL, err = f.newURL(scheme); err != nil {
		return s, nil, nil, err
	}
	if s.Create = true; f.Store == "" {
		warnings = append(warnings, "store is not set, so the bucket is in S3")
	}
	if !f.Persistent {
		warnings = append(warnings, "persistent: the server removes no buckets; remove the bucket when you no longer need the data")
	}
	local, err = f.local(target)
	return s, local, warnings, err
}

// checkURL checks a form with the URL of a bucket.
func (f Form) checkURL(scheme string) error {
	switch {
	case f.Name != "":
		return errors.New("name: the source already names a bucket; remove name")
	case scheme != "" && !strings.HasPrefix(f.Sources[0], scheme+"://"):
		return fmt.Errorf("store %q does not fit the source, which is in another store; remove store", f.Store)
	}
	return nil
}

// newURL returns the URL of a bucket that is created if it does not exist.
func (f Form) newURL(scheme string) (string, error) {
	const create = "name: the server creates no buckets in this store; create the bucket, and write source: %s/%s instead of name"
	switch {
	case f.Name == "" && len(f.Sources) == 0:
		return "", errors.New("must have a source, the URL of a bucket such as s3://my-bucket, or a name")
	case f.Name == "":
		return "", errors.New("name: is required, because the files of the source are copied to a bucket; add the name of the bucket, or write PATH: " + f.Sources[0] + " to upload the files without a bucket")
	case scheme == "https":
		return "", fmt.Errorf(create, "https://ACCOUNT"+azureHost, f.Name)
	case scheme == "cos":
		return "", fmt.Errorf(create, "cos://REGION", f.Name)
	case scheme == "":
		scheme = "s3"
	}
	return scheme + "://" + f.Name, nil
}

// local returns the local files for the bucket at target.
func (f Form) local(target string) (map[string]string, error) {
	all := map[string]string{}
	for _, source := range f.Sources {
		if IsURL(source) {
			return nil, fmt.Errorf("source: %s is in a list, and only local files may be; name one bucket for each path", source)
		}
		to := target
		if f.List {
			to = path.Join(target, path.Base(path.Clean(source)))
		}
		if _, twice := all[to]; twice {
			return nil, fmt.Errorf("source: two sources have the name %s; rename one of them", path.Base(to))
		}
		all[to] = source
	}
	return all, nil
}
