package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/task"
)

func newRootCommand(e *env) *cobra.Command {
	e.format = show.Text
	root := group("k8s-cli", "Run tasks on Kubernetes from SkyPilot-style YAML",
		group("auth", "Log in, log out, and show the current user", newLoginCommand(e), newLogoutCommand(e), newWhoamiCommand(e)),
		group("jobs", "Submit, list, follow and stop tasks",
			newSubmitCommand(e), newRerunCommand(e), newValidateCommand(e), newListCommand(e), newStatusCommand(e), newSpecCommand(e), newStopCommand(e), newLogsCommand(e),
			newWaitCommand(e), newEventsCommand(e, task.KindTask, "jobs", "Print the events of a task")),
		group("volumes", "Create, list and delete volumes",
			newCreateVolumeCommand(e), newListVolumesCommand(e), newVolumeStatusCommand(e), newDeleteVolumeCommand(e),
			newEventsCommand(e, task.KindVolume, "volumes", "Print the events of a volume")),
		newVersionCommand(e),
	)
	root.SetHelpCommand(newHelpCommand(root))
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", helpWidth)))
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.PersistentFlags().StringVar(&e.apiURL, "api-url", "", apiURLHelp)
	root.PersistentFlags().BoolVar(&e.insecureHTTP, "insecure-http", false,
		"send tokens over plain HTTP to another machine, although others on the network can read them (default "+insecureHTTPEnv+")")
	return root
}

const helpWidth = 80 // columns of the help

const apiURLHelp = "API server URL (default K8S_CLI_API_URL, or " + defaultURL + ")"

// shortAPIURL gives a command the original's -u for --api-url; on the others -u
// is --all-users.
func shortAPIURL(cmd *cobra.Command, e *env) {
	cmd.Flags().StringVarP(&e.apiURL, "api-url", "u", "", apiURLHelp)
}

// outputFlag lets the user choose how cmd presents what it prints.
func outputFlag(cmd *cobra.Command, e *env) {
	cmd.Flags().VarP(&e.format, "output", "o", "output format")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(show.Formats, cobra.ShellCompDirectiveNoFileComp))
}

// group returns a command that has others below it and does nothing itself.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				text += fmt.Sprintf(", did you mean %q?", near[0])
			}
			return fmt.Errorf("%s", text)
		},
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(commands...)
	return cmd
}

// newHelpCommand returns cobra's help, which says of commands that are not there
// that they are not.
func newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]...",
		Short:   "Show help for a command",
		Example: "  k8s-cli help jobs submit",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil {
				return exit.Usagef("%v", err)
			}
			if len(rest) > 0 && cmd.HasSubCommands() {
				return exit.Usagef("%v", cmd.Args(cmd, rest))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

const anyNumber = -1

// takes checks that a command has at least, and at most, so many arguments.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most != anyNumber && len(args) > most {
			return fmt.Errorf("usage: %s %s", cmd.Parent().CommandPath(), cmd.Use)
		}
		return nil
	}
}

func newVersionCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "version",
		Short:             "Print the version of k8s-cli",
		Args:              takes(0, 0),
		Example:           "  k8s-cli version -o json",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			return e.present(v, func() { fmt.Fprintln(e.out, v) })
		},
	}
	outputFlag(cmd, e)
	return cmd
}

// A version says what this program was built from.
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

func readVersion() version {
	v := version{Version: "(devel)", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			v.Revision = setting.Value
		}
	}
	return v
}

// present prints an answer: as data if -o asks for that, or else by text.
func (e *env) present(answer any, text func()) error {
	if e.format.IsData() {
		return show.Data(e.out, e.format, answer)
	}
	text()
	return nil
}
