package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/pkg/taskfile"
)

// A submission holds the flags that override fields of task files, and those that say
// how to submit the tasks.
type submission struct {
	detach bool
	dryRun bool
	name   string   // empty means as the file says
	nodes  int      // 0 means as the file says
	envs   []string // NAME=VALUE, or NAME for the value it has here

	secrets []string // so too
	grid    []string // NAME=VALUE,VALUE...
}

const secretUsage = "secret of the task, `NAME=VALUE`; NAME alone takes the value from your environment and keeps it out of the process list; repeatable"

// flags adds the override flags; whose completes their help.
func (s *submission) flags(cmd *cobra.Command, whose string) {
	flags := cmd.Flags()
	flags.BoolVarP(&s.detach, "detach", "d", false, "exit as soon as the server has accepted the tasks")
	flags.StringVar(&s.name, "name", "", "name of the task; overrides "+whose)
	flags.IntVar(&s.nodes, "num-nodes", 0, "number of nodes, `N`; overrides "+whose)
	flags.StringArrayVar(&s.envs, "env", nil, "environment variable of the task, `NAME=VALUE`; NAME alone takes the value from your environment; repeatable")
	flags.StringArrayVar(&s.secrets, "secret", nil, secretUsage)
}

// check returns a usage error for flags and files that cannot be used together.
func (s submission) check(files []string, nodesGiven bool) error {
	if nodesGiven && s.nodes < 1 {
		return exit.Usagef("--num-nodes %d: must be at least 1", s.nodes)
	}
	for _, env := range s.envs {
		if env == "" || env[0] == '=' {
			return exit.Usagef("--env %q must have the form NAME=VALUE", env)
		}
	}
	for _, secret := range s.secrets {
		if secret == "" || secret[0] == '=' {
			return exit.Usagef("--secret must have the form NAME=VALUE")
		}
	}
	if i := slices.Index(files, "-"); i >= 0 && slices.Contains(files[i+1:], "-") {
		return exit.Usagef("stdin (-) can be read only once")
	}
	return nil
}

// overrides returns the values that s sets in every file.
func (e *env) overrides(s submission) (taskfile.Overrides, error) {
	o := taskfile.Overrides{Name: s.name, NumNodes: s.nodes}
	var err error
	if o.Envs, err = e.values("--env", s.envs); err != nil {
		return o, err
	}
	o.Secrets, err = e.values("--secret", s.secrets)
	return o, err
}

// values returns the variables of a repeated flag: NAME=VALUE, or NAME alone for the
// value in the environment.
func (e *env) values(flag string, said []string) (map[string]string, error) {
	all := map[string]string{}
	for _, one := range said {
		name, value, ok := strings.Cut(one, "=")
		if !ok {
			value, ok = e.lookup(name)
		}
		if !ok {
			return nil, exit.Usagef("%s %s: the variable is not set in your environment", flag, name)
		}
		all[name] = value
	}
	return all, nil
}
