package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"k8s-cli/pkg/task/query"
)

// flagError returns the error about a flag of cmd, with what to write instead. args are all arguments of
// the process.
func flagError(cmd *cobra.Command, args []string, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return unknownFlag(cmd, args, unknown)
	}
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return wrongValue(wrong)
	}
	return err
}

func unknownFlag(cmd *cobra.Command, args []string, err *pflag.NotExistError) error {
	if word := unknownCommand(cmd, args); word != "" { // the flag is one of this command
		return cmd.Args(cmd, []string{word})
	}
	advice := skyFlags[err.GetSpecifiedName()]
	if err.GetSpecifiedShortnames() != "" && cmd.Name() == "submit" {
		advice = skyShorthands[err.GetSpecifiedName()]
	}
	if advice == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, advice)
}

// unknownCommand returns the first argument after the path of a group of commands that is neither a flag
// nor a command of the group.
func unknownCommand(cmd *cobra.Command, args []string) string {
	if !cmd.HasSubCommands() {
		return ""
	}
	path := strings.Fields(cmd.CommandPath())
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") || slices.Contains(path, arg) {
			continue
		}
		if known, _, err := cmd.Find([]string{arg}); err == nil && known != cmd {
			return ""
		}
		return arg
	}
	return ""
}

// wrongValue replaces the messages of the package strconv.
func wrongValue(err *pflag.InvalidValueError) error {
	flag := err.GetFlag()
	is := ""
	switch flag.Value.Type() {
	case "int":
		is = "is not a whole number"
	case "duration":
		is = "is not a duration, for example 90s, 10m or 2h"
	case "bool":
		is = "is neither true nor false"
	default:
		return err
	}
	text := fmt.Sprintf("--%s: %q %s", flag.Name, err.GetValue(), is)
	if flag.Name == "limit" && strings.Contains(err.GetValue(), "=") {
		text += "; --label KEY=VALUE selects tasks by a label"
	}
	return errors.New(text)
}

// A urlFlag is the URL of an API server. A value that is no URL usually means that the user expects
// another meaning of -u.
type urlFlag struct{ to *string }

func (f urlFlag) String() string {
	if f.to == nil {
		return ""
	}
	return *f.to
}

// Type returns the type of the flag for the help.
func (f urlFlag) Type() string { return "URL" }

// Set sets the URL.
func (f urlFlag) Set(text string) error {
	if text != "" && text != "localhost" && (strings.HasPrefix(text, "-") || !strings.ContainsAny(text, ":./")) {
		return errors.New("-u and --api-url take the URL of a server here; -u means --all-users in list, groups, stop and usage")
	}
	*f.to = text
	return nil
}

// A sinceFlag is an age, or a time in the past, as an age.
type sinceFlag struct{ to *time.Duration }

func (f sinceFlag) String() string {
	if f.to == nil || *f.to == 0 {
		return ""
	}
	return f.to.String()
}

// Type returns the type of the flag for the help.
func (f sinceFlag) Type() string { return "age" }

// Set sets the age.
func (f sinceFlag) Set(text string) error {
	age, err := query.ParseAge(text, time.Now())
	*f.to = age
	return err
}
