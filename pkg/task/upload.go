package task

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s-cli/pkg/task/bucket"
	"k8s-cli/pkg/task/outputs"
	"k8s-cli/pkg/task/problem"
)

// Files of a user that are unpacked in the containers of a task. The files are uploaded as
// archives, which are gzipped tar files named by their SHA-256, and are unpacked at the
// paths in the task before setup starts.

const (
	// WorkdirTarget is the destination of an uploaded working directory, as in SkyPilot.
	WorkdirTarget = "~/sky_workdir"

	// FilesDir is where the archives of a task are unpacked in its containers, each in a
	// directory of its own.
	FilesDir = "/k8s-cli-files"

	// SingleFile is the name of the only entry of an archive that contains one file instead
	// of a directory. The file itself is put at the destination.
	SingleFile = ".k8s-cli-file"

	maxUploads = 50   // archives of one task
	maxTarget  = 1024 // bytes of a path
)

var sumForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// An Upload is a command: a user's archive was stored, possibly again. An Upload belongs to
// one user. Archives of other users with the same content are separate Uploads.
type Upload struct {
	User   string `json:"user"`
	Sum    string `json:"sum"`    // SHA-256 of the archive, hexadecimal
	Object string `json:"object"` // name of the stored blob; each upload has a new name
	Size   int64  `json:"size"`   // bytes
}

// An UploadRecord is the state of an upload according to the log.
type UploadRecord struct {
	Upload
	// The latest of these times: the upload was stored, a task that names it was submitted,
	// such a task ended.
	Used time.Time `json:"used"`
}

// An UploadKey identifies one upload.
type UploadKey struct {
	User string `json:"user"`
	Sum  string `json:"sum"`
}

// DeleteUploads deletes uploads that were not used since Then and that no unfinished task
// needs. The leader appends DeleteUploads, and the fold checks the times as for
// ExpireHistory. After the fold, the blobs may be deleted, because no later submission that
// names the uploads is accepted.
type DeleteUploads struct {
	Uploads []UploadKey `json:"uploads"`
	Now     time.Time   `json:"now,omitzero"` // time by the leader's clock
	Then    time.Time   `json:"then"`
}

// Key returns the key of the upload.
func (u Upload) Key() UploadKey { return UploadKey{u.User, u.Sum} }

// CheckSum returns an error if sum is not the SHA-256 of an archive. The error is of kind
// problem.Invalid.
func CheckSum(sum string) error {
	if !sumForm.MatchString(sum) {
		return problem.New(problem.Invalid, Quote(sum)+" is not a SHA-256; write 64 hexadecimal digits in lower case")
	}
	return nil
}

// Sums returns the archives that the task needs, sorted and without duplicates.
func (s Spec) Sums() []string {
	return slices.Compact(slices.Sorted(maps.Values(s.Uploads)))
}

func (s Spec) checkUploads() error {
	if s.Git.URL != "" && s.Workdir != "" {
		return fmt.Errorf("git: the task also has the workdir %s; remove one of them", Quote(s.Workdir))
	}
	for _, target := range ordered(s.FileMounts) {
		if err := noNUL("file_mounts", target, "file_mounts", s.FileMounts[target]); err != nil {
			return err
		}
	}
	if len(s.Uploads) > maxUploads {
		return fmt.Errorf("uploads: %d archives exceed the limit of %d", len(s.Uploads), maxUploads)
	}
	taken := map[string]bool{}
	for dir := range s.Volumes {
		taken[path.Clean(dir)] = true
	}
	for dir := range s.Ephemeral {
		taken[path.Clean(dir)] = true
	}
	for _, target := range ordered(s.Uploads) {
		if err := checkTarget(target); err != nil {
			return fmt.Errorf("uploads: %w", err)
		}
		if taken[target] {
			return fmt.Errorf("uploads: a volume is mounted at %s; choose another path", Quote(target))
		}
		if err := CheckSum(s.Uploads[target]); err != nil {
			return fmt.Errorf("uploads.%s: %w", target, err)
		}
	}
	for target := range s.Uploads {
		taken[target] = taken[target] || !s.Buckets.Gets(target)
	}
	return s.Buckets.Check(checkTarget, taken)
}

// checkTarget returns an error if files cannot be put at a path.
func checkTarget(target string) error {
	home, inHome := strings.CutPrefix(target, "~/")
	switch {
	case !inHome && !strings.HasPrefix(target, "/"):
		return fmt.Errorf("%s must begin with / or ~/", Quote(target))
	case len(target) > maxTarget:
		return fmt.Errorf("%s has %d bytes, more than the limit of %d", Quote(target), len(target), maxTarget)
	case strings.ContainsRune(target, 0):
		return fmt.Errorf("%s contains a NUL character", Quote(target))
	case path.Clean(target) != target || target == "/" || inHome && (home == ".." || strings.HasPrefix(home, "../")):
		return fmt.Errorf("%s is not a valid path for files; remove ., .. and the trailing /", Quote(target))
	case isReserved(target):
		return fmt.Errorf("%s is reserved for the files of k8s-cli; choose another path", Quote(target))
	}
	return nil
}

// isReserved reports whether k8s-cli uses a clean path itself.
func isReserved(clean string) bool {
	return slices.ContainsFunc([]string{ScriptDir, FilesDir, outputs.Dir, bucket.Dir}, func(dir string) bool {
		return clean == dir || strings.HasPrefix(clean, dir+"/")
	})
}

// CheckUploaded returns an error if t names a local file, directory or repository that must
// be uploaded first. The error is of kind problem.Malformed.
func (s Spec) CheckUploaded() error {
	const how = "use k8s-cli jobs submit, or PUT a tar.gz of it to /uploads/SHA256 and write uploads: "
	err := error(nil)
	switch local := ordered(s.FileMounts); {
	case s.Git.URL != "":
		err = errors.New("workdir: a git repository must be checked out and uploaded before the task is submitted; " + how + "{" + WorkdirTarget + ": SHA256}, and workdir: " + WorkdirTarget)
	case s.Workdir != "" && !InImage(s.Workdir):
		err = fmt.Errorf("workdir: %s is a local directory and must be uploaded first; %s{%s: SHA256}, and workdir: %[3]s (a directory of the image begins with / or ~/)", Quote(s.Workdir), how, WorkdirTarget)
	case len(local) > 0:
		err = fmt.Errorf("file_mounts: %s is a local path and must be uploaded first; %s{%s: SHA256}", Quote(s.FileMounts[local[0]]), how, local[0])
	}
	if err != nil {
		return problem.New(problem.Malformed, err.Error())
	}
	return nil
}

// InImage reports whether a working directory is a path in the image.
func InImage(dir string) bool {
	return strings.HasPrefix(dir, "/") || dir == "~" || strings.HasPrefix(dir, "~/")
}
