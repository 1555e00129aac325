package task

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestSubPaths(t *testing.T) {
	mounted := func(sub string) Spec {
		return Spec{Run: "x", Volumes: map[string]string{"/a": "v"}, SubPaths: map[string]string{"/a": sub}}
	}
	for _, sub := range []string{"b", "b/c", "..b", "b/c..", strings.Repeat("b", 253)} {
		if err := mounted(sub).Validate(); err != nil {
			t.Errorf("%q: %v", sub, err)
		}
	}
	for _, sub := range []string{"", "/b", "..", "../b", "b/..", "b/../c", strings.Repeat("b", 254)} {
		checkInvalid(t, mounted(sub).Validate(), "volumes./a.sub_path: "+Quote(sub)+" must be a relative path without .. inside the volume")
	}
	checkInvalid(t, mounted("b\x00").Validate(), "volumes: contains a NUL")
	checkInvalid(t, Spec{Run: "x", SubPaths: map[string]string{"/a": "b"}}.Validate(), `sub_paths: no volume is mounted at "/a"; name one under volumes`)
}

func TestPerNodeVolumes(t *testing.T) {
	mounted := func(e Ephemeral) Spec { return Spec{Run: "x", Ephemeral: map[string]Ephemeral{"/a": e}} }
	for _, e := range []Ephemeral{
		{Size: "1Gi"},
		{Size: "1Gi", StorageClass: new(""), AccessMode: "ReadWriteMany", Labels: map[string]string{"team": "a"}},
		{Size: "1Gi", StorageClass: new("fast.example.com")},
	} {
		if err := mounted(e).Validate(); err != nil {
			t.Errorf("%+v: %v", e, err)
		}
	}
	for _, tt := range []struct {
		name   string
		volume Ephemeral
		want   string
	}{
		{"no size", Ephemeral{}, "volumes./a.size: a volume needs a size"},
		{"a size without a unit", Ephemeral{Size: "10"}, `volumes./a.size: "10" is not`},
		{"a class in capitals", Ephemeral{Size: "1Gi", StorageClass: new("Fast")}, `volumes./a.storage_class: "Fast" is not`},
		{"an unknown mode", Ephemeral{Size: "1Gi", AccessMode: "RWO"}, `volumes./a.access_mode: "RWO" is not one of`},
		{"a label that is none", Ephemeral{Size: "1Gi", Labels: map[string]string{"a b": "c"}}, "volumes./a.labels: "},
	} {
		t.Run(tt.name, func(t *testing.T) { checkInvalid(t, mounted(tt.volume).Validate(), tt.want) })
	}
	for mode, want := range map[string]string{"": "ReadWriteOnce", "ReadWriteMany": "ReadWriteMany"} {
		if got := (Ephemeral{AccessMode: mode}).Mode(); got != want {
			t.Errorf("mode %q means %s, want %s", mode, got, want)
		}
	}
	for _, modes := range [][]string{nil, {"ReadOnlyMany", "ReadWriteMany"}} {
		want := modes
		if modes == nil {
			want = []string{"ReadWriteOnce"}
		}
		if got := (Volume{AccessModes: modes}).Modes(); !slices.Equal(got, want) {
			t.Errorf("modes %q mean %q, want %q", modes, got, want)
		}
	}
}

func TestMountPaths(t *testing.T) {
	both := Spec{Run: "x", Volumes: map[string]string{"/a": "v"}, Ephemeral: map[string]Ephemeral{"/a/": {Size: "1Gi"}}}
	checkInvalid(t, both.Validate(), `volumes: "/a" and "/a/" are the same mount path; remove one of them`)
	for _, dir := range []string{"/k8s-cli", "/k8s-cli/x", "/k8s-cli-files/"} {
		checkInvalid(t, Spec{Run: "x", Volumes: map[string]string{dir: "v"}}.Validate(), fmt.Sprintf("volumes: %q is reserved for the files of k8s-cli", dir))
	}
	longest := "/" + strings.Repeat("a", 252)
	many := Spec{Run: "x", Volumes: map[string]string{longest: "v"}, Ephemeral: map[string]Ephemeral{}}
	for i := range maxMounts - 1 {
		many.Ephemeral[fmt.Sprint("/", i)] = Ephemeral{Size: "1Gi"}
	}
	if err := many.Validate(); err != nil {
		t.Error(err)
	}
	many.Volumes["/one-more"] = "v"
	checkInvalid(t, many.Validate(), fmt.Sprintf("volumes: %d mounts exceed the limit of %d", maxMounts+1, maxMounts))
	checkInvalid(t, Spec{Run: "x", Volumes: map[string]string{longest + "a": "v"}}.Validate(), "volumes: \"/aaa")
}
