// Package release reports the release of a program. Release is a package of its own because both
// programs and the notifications name the release, and the linker sets one variable for all of them.
package release

import (
	"runtime"
	"runtime/debug"
)

// version is the version of a release, without a leading v. The linker sets version in
// release builds; version is empty in other builds.
var version string

// Info describes the build of a program.
type Info struct {
	Version  string // of the release, or as recorded by the Go toolchain
	Revision string // commit; empty if unknown
	Go       string // version of Go
}

// Read returns the build information of the running program.
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

// VersionLine returns the output of --version for a program.
func (i Info) VersionLine(program string) string {
	text := program + " " + i.Version
	if i.Revision != "" {
		text += " (" + i.Revision + ")"
	}
	return text + " " + i.Go
}
