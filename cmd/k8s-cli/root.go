package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/pkg/task"
)

func newRootCommand(e *env) *cobra.Command {
	s := &server{env: e}
	root := commandGroup("k8s-cli", "Run tasks on Kubernetes from SkyPilot-style YAML",
		commandGroup("auth", "Log in, log out, and show the current user", newLoginCommand(s), newLogoutCommand(e, s), newWhoamiCommand(e, s)),
		commandGroup("jobs", "Submit, list, follow and stop tasks",
			newSubmitCommand(e, s), newRerunCommand(e, s), newValidateCommand(e), newListCommand(e, s), newGroupsCommand(e, s), newTopCommand(e, s), newUsageCommand(e, s), newGetCommand(e, s), newStatusCommand(e, s), newSpecCommand(e, s), newOpenCommand(e, s),
			newStopCommand(e, s), newLogsCommand(e, s), newExecCommand(e, s), newShellCommand(e, s), newPortForwardCommand(e, s), newCopyCommand(e, s), newDownloadCommand(e, s), newWaitCommand(e, s), newEventsCommand(e, s, task.KindTask, "jobs", "Print the events of a task"),
			newNotifySecretCommand(e, s)),
		commandGroup("volumes", "Create, list and delete volumes",
			newCreateVolumeCommand(e, s), newListVolumesCommand(e, s), newVolumeStatusCommand(e, s), newDeleteVolumeCommand(e, s),
			newEventsCommand(e, s, task.KindVolume, "volumes", "Print the events of a volume")),
		newGPUsCommand(e, s), newNodesCommand(e, s), newVersionCommand(e),
	)
	root.AddGroup(&cobra.Group{ID: "groups", Title: "Commands:"}, &cobra.Group{ID: "short", Title: "Short forms of the commands of jobs:"})
	for _, cmd := range root.Commands() {
		cmd.GroupID = "groups"
	}
	for _, cmd := range []*cobra.Command{newSubmitCommand(e, s), newListCommand(e, s), newStatusCommand(e, s), newLogsCommand(e, s), newStopCommand(e, s)} {
		cmd.GroupID = "short"
		root.AddCommand(cmd)
	}
	root.SetHelpCommandGroupID("groups")
	root.SetCompletionCommandGroupID("groups")
	root.SetHelpCommand(newHelpCommand(root))
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", helpWidth)))
	root.Version = readVersion().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "print the version of k8s-cli")
	root.SilenceErrors = true
	root.SilenceUsage = true
	s.flags(root)
	return root
}

const helpWidth = 80 // columns

// commandGroup returns a command that only groups other commands.
func commandGroup(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
			if advice := skySubcommands[cmd.CommandPath()][args[0]]; advice != "" {
				return fmt.Errorf("%s: %s", text, advice)
			}
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

// newHelpCommand returns a help command that returns an error for an unknown command.
// cobra's own help command returns no error.
func newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]...",
		GroupID: "groups",
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

// takes returns a check of the number of arguments: least is the minimum and most is the
// maximum. anyNumber means no maximum.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most != anyNumber && len(args) > most {
			return fmt.Errorf("%susage: %s %s", missingArgument(cmd, args), cmd.Parent().CommandPath(), cmd.Use)
		}
		return nil
	}
}

// missingArgument says what to name if a command has no arguments. It returns "" if there are arguments.
func missingArgument(cmd *cobra.Command, args []string) string {
	switch {
	case len(args) > 0:
		return ""
	case strings.Contains(cmd.Use, "FILE"):
		return "name a task file, or - for stdin; "
	case !strings.Contains(cmd.Use, "ID"):
		return ""
	case cmd.Parent().Name() == "volumes":
		return "name a volume, which 'k8s-cli volumes list' shows; "
	case cmd.Flags().Lookup("group") != nil && cmd.Name() != "rerun":
		return "name a task, which 'k8s-cli jobs list' shows, or --group NAME; "
	}
	return "name a task, which 'k8s-cli jobs list' shows; "
}
