package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"k8s-cli/test/testkit/must"
)

func TestHelpShowsEveryFlagInAGroup(t *testing.T) {
	help, err := execute("--help")
	must.Succeed(t, err)
	for _, want := range []string{"Examples:\n  k8s-cli-server --listen", "\nHTTP:\n      --listen ", "\nAuthentication:\n      --auth ", "\nLimits of each user:\n", "  backup "} {
		if !strings.Contains(help, want) {
			t.Errorf("the help lacks %q:\n%s", want, help)
		}
	}
	command(&config{}).Flags().VisitAll(func(f *pflag.Flag) {
		if n := strings.Count(help, " --"+f.Name+" ") - strings.Count(help, "  k8s-cli-server --"+f.Name+" "); n < 1 {
			t.Errorf("the help lacks --%s", f.Name)
		}
	})
}

func TestHelpFitsTheTerminal(t *testing.T) {
	t.Setenv("HOME", "/root") // in the default of --data-dir
	for _, args := range [][]string{{"--help"}, {"backup", "--help"}, {"restore", "--help"}} {
		help, err := execute(args...)
		must.Succeed(t, err)
		for line := range strings.Lines(help) {
			if len(line) > helpWidth+1 {
				t.Errorf("%v: the line has more than %d columns: %s", args, helpWidth, line)
			}
		}
	}
}
