package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s-cli/cmd/k8s-cli/internal/exit"
)

// commandFile is the name of the task file of a command on the command line. No file has this name.
const commandFile = ""

// inline returns the task files that the arguments name. A command stands after --, or, as with sky, is
// a text that cannot be a file name. atDash is the number of arguments before --, -1 without --.
func (o *submitOptions) inline(args []string, atDash int) ([]string, error) {
	switch {
	case atDash > 0:
		return nil, exit.Usagef("name task files, or a command after --, but not both")
	case atDash == 0 && len(args) == 1, atDash < 0 && isCommand(args):
		o.command = strings.Join(args, " ")
	case atDash == 0:
		o.command = commandLine(args)
	default:
		return args, nil
	}
	return []string{commandFile}, nil
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// commandLine returns the line of a shell that passes on these arguments.
func commandLine(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		if words[i] = arg; !plainWord.MatchString(arg) {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// isCommand reports whether arguments are a command: none of them is a file, and they contain a space,
// together if there are several.
func isCommand(args []string) bool {
	for _, arg := range args {
		if _, err := os.Stat(arg); err == nil || arg == "-" || isTaskFile(arg) {
			return false
		}
	}
	return strings.ContainsAny(strings.Join(args, " "), " \t\n")
}

// isTaskFile reports whether a name ends as those of task files do.
func isTaskFile(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name)))
}
