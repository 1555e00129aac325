package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"k8s-cli/pkg/release"
)

func newVersionCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "version",
		Short:             "Print the version of k8s-cli",
		Args:              takes(0, 0),
		Example:           "  k8s-cli version -o json",
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	p := newPlainPrinter(&e.Console, cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		v := readVersion()
		return p.present(v, func() { fmt.Fprintln(p.Out, v) })
	}
	return cmd
}

// A version describes the build of this program.
type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
}

func (v version) String() string {
	text := "k8s-cli " + v.Version
	if v.Revision != "" {
		text += " (" + v.Revision + ")"
	}
	return text + " " + v.Go
}

func readVersion() version { return version(release.Read()) }
