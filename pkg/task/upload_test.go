package task

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s-cli/pkg/task/bucket"
	"k8s-cli/pkg/task/problem"
)

var sum = strings.Repeat("0123456789abcdef", 4)

func TestCheckSum(t *testing.T) {
	for text, good := range map[string]bool{
		sum: true, strings.Repeat("0", 64): true,
		"": false, sum[1:]: false, sum + "0": false, strings.ToUpper(sum): false, "g" + sum[1:]: false, sum + "\n": false,
	} {
		if err := CheckSum(text); (err == nil) != good || err != nil && !errors.Is(err, problem.Invalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestUploadsOfATask(t *testing.T) {
	other := strings.Repeat("f", 64)
	got := Spec{Uploads: map[string]string{"/b": other, "/a": other, "/c": sum}}.Sums()
	if want := []string{sum, other}; !slices.Equal(got, want) {
		t.Errorf("sums %q, want %q", got, want)
	}
	if got := (Upload{User: "ann", Sum: sum, Object: "o", Size: 1}).Key(); got != (UploadKey{User: "ann", Sum: sum}) {
		t.Errorf("key %v", got)
	}
}

func TestUploadTargets(t *testing.T) {
	longest := "/" + strings.Repeat("a", 1023)
	for _, target := range []string{
		"~/sky_workdir", "/data", "/data/a.b", "~/..a", "~/a..", "/k8s-cliff", "/k8s-cli-files2", longest,
	} {
		if err := (Spec{Run: "x", Uploads: map[string]string{target: sum}}).Validate(); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
	for target, want := range map[string]string{
		"data": " must begin", "~": " must begin", "~ann/a": " must begin", "": " must begin",
		longest + "a": " has 1025 bytes, more than the limit", "/a\x00": " contains a NUL",
		"/": " is not a valid path", "~/": " is not a valid path", "~/..": " is not a valid path", "~/../a": " is not a valid path",
		"/a/": " is not a valid path", "/a/./b": " is not a valid path", "/a/../b": " is not a valid path", "//a": " is not a valid path", "~/a/": " is not a valid path",
		"/k8s-cli": " is reserved for the files of k8s-cli", "/k8s-cli/run": " is reserved for the files of k8s-cli", "/k8s-cli-files/x": " is reserved for the files of k8s-cli",
	} {
		err := (Spec{Run: "x", Uploads: map[string]string{target: sum}}).Validate()
		checkInvalid(t, err, "uploads: "+Quote(target)+want)
	}
}

func TestUploadsMeetTheRestOfTheTask(t *testing.T) {
	many := func(n int) map[string]string {
		uploads := map[string]string{}
		for i := range n {
			uploads[fmt.Sprint("/", i)] = sum
		}
		return uploads
	}
	if err := (Spec{Run: "x", Uploads: many(50), FileMounts: map[string]string{"/f": "local"}, Buckets: bucket.Mounts{"/7": {URL: "s3://data", Create: true}}}).Validate(); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct {
		name string
		task Spec
		want string
	}{
		{"too many", Spec{Uploads: many(51)}, "uploads: 51 archives exceed the limit of 50"},
		{"no sum", Spec{Uploads: map[string]string{"/a": "x"}}, `uploads./a: "x" is not a SHA-256`},
		{"where a volume is", Spec{Volumes: map[string]string{"/a/": "v"}, Uploads: map[string]string{"/a": sum}}, `uploads: a volume is mounted at "/a"`},
		{
			"where a per-node volume is",
			Spec{Ephemeral: map[string]Ephemeral{"/a/": {Size: "1Gi"}}, Uploads: map[string]string{"/a": sum}},
			`uploads: a volume is mounted at "/a"`,
		},
		{"two working directories", Spec{Git: Git{URL: "https://x/y.git"}, Workdir: "w"}, `git: the task also has the workdir "w"`},
		{"a bucket of an unknown store", Spec{Buckets: bucket.Mounts{"/a": {URL: "hf://b"}}}, "file_mounts./a: hf:// is not supported"},
		{"a bucket where files are", Spec{Uploads: map[string]string{"/a": sum}, Buckets: bucket.Mounts{"/a": {URL: "s3://data"}}}, "file_mounts./a: a volume or an upload has the same path"},
		{"a bucket where a volume is", Spec{Volumes: map[string]string{"/a/": "v"}, Buckets: bucket.Mounts{"/a": {URL: "s3://data"}}}, "file_mounts./a: a volume or an upload has the same path"},
		{"a bucket in a directory of k8s-cli", Spec{Buckets: bucket.Mounts{bucket.Dir + "/a": {URL: "s3://data"}}}, `file_mounts: "/k8s-cli-buckets/a" is reserved`},
		{"a NUL in a file mount", Spec{FileMounts: map[string]string{"/a": "\x00"}}, "file_mounts: contains a NUL"},
		{"a NUL in where it goes", Spec{FileMounts: map[string]string{"/\x00": "a"}}, "file_mounts: contains a NUL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.task.Run = "x"
			checkInvalid(t, tt.task.Validate(), tt.want)
		})
	}
}

// TestCheckUploaded checks that local paths must be uploaded before the submission.
func TestCheckUploaded(t *testing.T) {
	for _, tt := range []struct {
		name string
		task Spec
		want string
	}{
		{"nothing", Spec{}, ""},
		{"a directory of the image", Spec{Workdir: "/src"}, ""},
		{"the home directory", Spec{Workdir: "~"}, ""},
		{"a directory in it", Spec{Workdir: "~/sky_workdir"}, ""},
		{"a git repository", Spec{Git: Git{URL: "https://x/y.git"}}, "workdir: a git repository must be checked out and uploaded"},
		{"a directory of the user", Spec{Workdir: "src"}, `workdir: "src" is a local directory`},
		{"a home of another user", Spec{Workdir: "~ann"}, `workdir: "~ann" is a local directory`},
		{"the first file", Spec{FileMounts: map[string]string{"/b": "y", "/a": "x"}}, `file_mounts: "x" is a local path`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.task.CheckUploaded()
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, problem.Malformed) || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error %v, want %s...", err, tt.want)
			}
		})
	}
	if err := (Spec{FileMounts: map[string]string{"/b": "y", "/a": "x"}}).CheckUploaded(); err == nil || !strings.Contains(err.Error(), "{/a: SHA256}") {
		t.Errorf("error %v, want one that names the path of the file", err)
	}
}
