package outputs

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPaths(t *testing.T) {
	reserved := func(clean string) bool { return strings.HasPrefix(clean, "/k8s-cli") }
	for _, tt := range []struct{ path, want string }{
		{"results", ""},
		{"./results/", ""},
		{"/var/log/train", ""},
		{"~", ""},
		{"~/model.pt", ""},
		{"a b/ü", ""},
		{"..a", ""},
		{"./~x", ""},
		{".", ""},
		{"", "is empty"},
		{"/", "whole file system"},
		{"//.", "whole file system"},
		{"~ann/x", "begins with ~"},
		{"a/../b", "contains .."},
		{"..", "contains .."},
		{"a\nb", "line break"},
		{"a\x00", "NUL"},
		{strings.Repeat("a", 1025), "1025 bytes"},
		{"/k8s-cli/run", "reserved"},
	} {
		err := Check([]string{tt.path}, reserved)
		if got := err == nil; got != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.path, err, tt.want)
		}
	}
	for paths, overlap := range map[[2]string]bool{
		{"a", "a"}: true, {"a", "./a/"}: true, {"a/b", "a"}: true, {"a", "a/b"}: true, {".", "a"}: true, {"~", "~/x"}: true, {"/x", "/x/y"}: true,
		{"a", "ab"}: false, {".", "/x"}: false, {".", "~/x"}: false, {"a", "/a"}: false,
	} {
		if err := Check(paths[:], reserved); (err != nil) != overlap || err != nil && !strings.Contains(err.Error(), "overlaps") {
			t.Errorf("%q: %v", paths, err)
		}
	}
	if err := Check(make([]string, 21), reserved); err == nil || !strings.Contains(err.Error(), "limit of 20") {
		t.Errorf("21 paths: %v", err)
	}
}

// The last archive of a node counts, and a later failure does not remove the archive.
func TestPut(t *testing.T) {
	archive := func(object string, size int64) Archive {
		return Archive{Object: object, Size: size, Sum: "sum of " + object}
	}
	var all []Record
	for _, f := range []Stored{
		{Rank: 2, Archive: archive("c", 3)}, {Rank: 0, Error: "too large"}, {Rank: 1, Archive: archive("b", 5)}, {Rank: 2, Archive: archive("d", 7)}, {Rank: 1, Error: "too many"},
	} {
		before := slices.Clone(all)
		next := Put(all, f)
		if !cmp.Equal(before, all) {
			t.Fatalf("Put changed its argument from %v to %v", before, all)
		}
		all = next
	}
	want := []Record{{Rank: 0, Error: "too large"}, {Rank: 1, Archive: archive("b", 5), Error: "too many"}, {Rank: 2, Archive: archive("d", 7)}}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if got := Size(all); got != 12 {
		t.Errorf("%d bytes, want 12", got)
	}
	if got := Of(all, 3); !cmp.Equal(got, Record{Rank: 3}) {
		t.Errorf("node 3: %+v", got)
	}
	if got := Describe(all, 4, true); len(got) != 4 || got[3].Error == "" || got[2].Sum != "sum of d" {
		t.Errorf("described as %+v", got)
	}
	if got := Describe(all, 4, false); len(got) != 3 {
		t.Errorf("described before the end as %+v", got)
	}
}

func TestMissing(t *testing.T) {
	paths := []string{"a", "b", "c"}
	for positions, want := range map[string][]string{"": nil, "0": {"a"}, "0,2": {"a", "c"}} {
		if got, err := Missing(paths, positions); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", positions, got, err)
		}
	}
	for _, positions := range []string{"3", "-1", "a", "0,", "0,0,0,0", "99999999999999999999"} {
		if got, err := Missing(paths, positions); err == nil {
			t.Errorf("%q: %q", positions, got)
		}
	}
}
