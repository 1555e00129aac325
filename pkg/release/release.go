// Package release says which release a program is of.
package release

import (
	"runtime"
	"runtime/debug"
)

// version is the version of a release, without a leading v. The linker sets it in
// programs that make release builds; it is empty in others.
var version string

// Info says what a program was built from.
type Info struct {
	Version  string // of the release, or what the Go toolchain knows
	Revision string // the commit; empty if it is unknown
	Go       string // the version of Go
}

// Read returns what this program was built from.
func Read() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return read(version, build)
}

func read(released string, build *debug.BuildInfo) Info {
	i := Info{Version: "(devel)", Go: runtime.Version()}
	switch {
	case released != "":
		i.Version = released
	case build.Main.Version != "":
		i.Version = build.Main.Version
	}
	for _, setting := range build.Settings {
		if setting.Key == "vcs.revision" {
			i.Revision = setting.Value
		}
	}
	return i
}

// Line returns a line about a program, for --version.
func (i Info) Line(program string) string {
	text := program + " " + i.Version
	if i.Revision != "" {
		text += " (" + i.Revision + ")"
	}
	return text + " " + i.Go
}
