package release

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestVersionOfAProgram(t *testing.T) {
	commit := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "0123abcd"}}
	for _, tt := range []struct {
		name     string
		released string
		build    debug.BuildInfo
		want     string
	}{
		{"a release", "1.2.3", debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-2026"}, Settings: commit}, "program 1.2.3 (0123abcd) "},
		{"go build in a checkout", "", debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-2026"}, Settings: commit}, "program v0.0.0-2026 (0123abcd) "},
		{"nothing known", "", debug.BuildInfo{}, "program (devel) "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, want := read(tt.released, &tt.build).VersionLine("program"), tt.want+runtime.Version(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestReadKnowsTheVersionOfGo(t *testing.T) {
	if got := Read(); got.Go != runtime.Version() || got.Version == "" {
		t.Errorf("%+v", got)
	}
}
