package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"k8s-cli/cmd/k8s-cli/internal/dotenv"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/callback"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/taskfile"
)

// submitOptions holds the flags that override fields of task files, and the flags that
// say how to submit the tasks.
type submitOptions struct {
	detach  bool
	yes     bool
	dryRun  bool
	command string   // line of a shell, in place of a task file
	name    string   // empty keeps the name in the file
	nodes   int      // 0 keeps the number in the file
	envs    []string // NAME=VALUE, or NAME for the value in the environment

	annotations []string // KEY=VALUE

	secrets     []string // in the same form as envs
	envFiles    []string
	secretFiles []string
	grid        []string // NAME=VALUE,VALUE...
	copies      int      // 0 for one task without a rank
	group       string   // empty for no group, or for a generated name
	maxParallel int      // 0 for no limit
	failFast    bool

	spot string // true or false; empty keeps the value in the file

	cpus, memory, gpus, image, timeout, notify string // empty keeps the value in the file, taskfile.None removes it
}

const envNotify = "K8S_CLI_NOTIFY"

const secretUsage = "secret of the task, `NAME=VALUE`; NAME alone takes the value from your environment and keeps it out of the process list; repeatable"

// flags adds the flags to cmd. whose says in the help which value a flag overrides.
func (o *submitOptions) flags(cmd *cobra.Command, whose string) {
	flags := cmd.Flags()
	flags.BoolVarP(&o.detach, "detach", "d", false, "exit as soon as the server has accepted the tasks")
	flags.StringVarP(&o.name, "name", "n", "", "name of the task; overrides "+whose)
	flags.IntVar(&o.nodes, "num-nodes", 0, "number of nodes, `N`; overrides "+whose)
	flags.StringVar(&o.cpus, "cpus", "", "CPUs of each node, for example 4 or 500m, or none; overrides "+whose)
	flags.StringVar(&o.memory, "memory", "", "memory of each node, in GiB or with a unit, for example 16 or 512Mi, or none; overrides "+whose)
	flags.StringVar(&o.gpus, "gpus", "", "GPUs of each node, for example H100:8 or 2, or none; overrides "+whose)
	flags.StringVar(&o.image, "image-id", "", "container image, or none for the default image; overrides "+whose)
	flags.StringVar(&o.spot, "use-spot", "", "request spot machines, or with =false other machines; overrides "+whose)
	flags.Lookup("use-spot").NoOptDefVal = "true"
	for _, name := range elsewhere { // as in sky
		flags.String(name, "", "accepted as in sky; all tasks run on the server's cluster")
		_ = flags.MarkHidden(name)
	}
	flags.StringVar(&o.timeout, "max-duration", "", "`duration` after which the server ends a running task, for example 2h or 1h30m, or none; overrides "+whose)
	flags.StringArrayVar(&o.annotations, "annotation", nil, "your own metadata, `KEY=VALUE`, which the status of the task shows and by which lists filter; repeatable")
	flags.StringVar(&o.notify, "notify", "", "`URL` to which the server sends the phase changes of the tasks, or none; overrides "+whose+"; the default is the variable "+envNotify)
	o.valueFlags(cmd)
	flags.BoolVarP(&o.yes, "yes", "y", false, "accepted as in sky")
	_ = flags.MarkHidden("yes")
	flags.SetNormalizeFunc(skyNames)
}

// elsewhere are flags of sky that choose a cluster.
var elsewhere = []string{"infra", "cloud", "region", "zone"}

// warnings returns what the flags do not do.
func (o submitOptions) warnings(given *pflag.FlagSet) (all []string) {
	for _, name := range elsewhere {
		if f := given.Lookup(name); f != nil && f.Changed && f.Value.String() != "kubernetes" && f.Value.String() != "k8s" {
			all = append(all, "--"+name+": not used; tasks run on the server's cluster")
		}
	}
	return all
}

// skyNames maps the names of flags of SkyPilot, and old names, to the names of flags of this command.
func skyNames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "detach-run", "async":
		name = "detach"
	case "dryrun":
		name = "dry-run"
	case "timeout": // the old name
		name = "max-duration"
	}
	return pflag.NormalizedName(name)
}

// valueFlags adds the flags that set variables and secrets.
func (o *submitOptions) valueFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&o.envs, "env", nil, "environment variable of the task, `NAME=VALUE`; NAME alone takes the value from your environment; repeatable")
	flags.StringArrayVar(&o.secrets, "secret", nil, secretUsage)
	flags.StringArrayVar(&o.envFiles, "env-file", nil, "dotenv `file` of environment variables, which --env overrides; repeatable")
	flags.StringArrayVar(&o.secretFiles, "secret-file", nil, "dotenv `file` of secrets, which --secret overrides; repeatable")
}

// check returns a usage error for flags and files that cannot be used together.
func (o submitOptions) check(files []string, given *pflag.FlagSet) error {
	if given.Changed("num-nodes") && o.nodes < 1 {
		return exit.Usagef("--num-nodes %d: must be at least 1", o.nodes)
	}
	if given.Changed("num-jobs") && o.copies < 1 {
		return exit.Usagef("--num-jobs %d: must be at least 1", o.copies)
	}
	if given.Changed("group") {
		if err := group.CheckName(o.group); err != nil {
			return exit.Usagef("--group: %v", err)
		}
	}
	if given.Changed("max-parallel") && o.maxParallel < 1 {
		return exit.Usagef("--max-parallel %d: must be at least 1", o.maxParallel)
	}
	for _, env := range o.envs {
		if env == "" || env[0] == '=' {
			return exit.Usagef("--env %q must have the form NAME=VALUE", env)
		}
	}
	for _, annotation := range o.annotations {
		if key, _, ok := strings.Cut(annotation, "="); !ok || task.CheckLabelKey(key) != nil {
			return exit.Usagef("--annotation %q must have the form KEY=VALUE", annotation)
		}
	}
	for _, secret := range o.secrets {
		if secret == "" || secret[0] == '=' {
			return exit.Usagef("--secret must have the form NAME=VALUE")
		}
	}
	if o.spot != "" && o.spot != "true" && o.spot != "false" {
		return exit.Usagef("--use-spot=%s: must be true or false", o.spot)
	}
	if o.notify != "" && o.notify != taskfile.None && !callback.IsURL(o.notify) {
		return exit.Usagef("--notify: the value is not a URL; use the form https://HOST/PATH")
	}
	if err := o.checkResources(); err != nil {
		return err
	}
	if i := slices.Index(files, "-"); i >= 0 && slices.Contains(files[i+1:], "-") {
		return exit.Usagef("stdin (-) can be read only once")
	}
	return nil
}

// checkResources returns a usage error for resources that no task can have.
func (o submitOptions) checkResources() error {
	var t task.Spec
	taskfile.Overrides{CPUs: o.cpus, Memory: o.memory, Accelerators: o.gpus, ImageID: o.image, MaxDuration: o.timeout}.Override(&t)
	if _, err := t.TimeLimit(); err != nil {
		return exit.Usagef("--max-duration: %v", err)
	}
	r := t.Resources
	if _, err := r.CPU(); err != nil {
		return exit.Usagef("--cpus: %v", err)
	}
	if _, err := r.RAM(); err != nil {
		return exit.Usagef("--memory: %v", err)
	}
	if _, _, err := r.GPUs(); err != nil {
		return exit.Usagef("--gpus: %v", err)
	}
	if r.ImageID != "" && !task.IsImage(r.Image()) {
		return exit.Usagef("--image-id: %s is not a valid name of a container image", task.Quote(r.ImageID))
	}
	return nil
}

// overrides returns the values that replace the values in every file. It takes the values
// of variables without a value from lookup.
func (o submitOptions) overrides(lookup func(string) (string, bool)) (taskfile.Overrides, error) {
	all := taskfile.Overrides{Name: o.name, NumNodes: o.nodes, CPUs: o.cpus, Memory: o.memory, Accelerators: o.gpus, ImageID: o.image, MaxDuration: o.timeout, EventCallback: o.notify}
	if o.notify == "" {
		all.EventCallback, _ = lookup(envNotify)
	}
	if o.spot != "" {
		all.UseSpot = new(o.spot == "true")
	}
	for _, annotation := range o.annotations {
		key, value, _ := strings.Cut(annotation, "=")
		if all.Annotations == nil {
			all.Annotations = map[string]string{}
		}
		all.Annotations[key] = value
	}
	var err error
	if all.Envs, err = values(lookup, "--env", o.envFiles, o.envs); err != nil {
		return all, err
	}
	all.Secrets, err = values(lookup, "--secret", o.secretFiles, o.secrets)
	return all, err
}

// values returns the variables of files and of a repeated flag, which overrides the files.
// NAME=VALUE sets the value; NAME alone takes the value from the environment.
func values(lookup func(string) (string, bool), flag string, files, said []string) (map[string]string, error) {
	all := map[string]string{}
	for _, file := range files {
		some, err := dotenv.Load(file)
		if err != nil {
			return nil, fmt.Errorf("%s-file: %w", flag, err)
		}
		maps.Copy(all, some)
	}
	for _, one := range said {
		name, value, ok := strings.Cut(one, "=")
		if !ok {
			value, ok = lookup(name)
		}
		if !ok {
			return nil, exit.Usagef("%s %s: the variable is not set in your environment", flag, name)
		}
		all[name] = value
	}
	return all, nil
}
