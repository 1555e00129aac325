package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A step is a command that the session types, and what the session waits for.
type step struct {
	command string

	// interrupt reports, for a command that does not end, whether its output shows enough.
	// The session then presses Ctrl-C.
	interrupt func(output string) bool
}

// session is what the recording shows. The commands run in the root of the checkout. They
// fit in one line of the terminal.
var session = []step{
	{command: "# A Python program with its files and a secret"},
	{command: "cd examples/python && cat task.yaml"},
	{command: "k8s-cli jobs submit task.yaml --secret API_TOKEN --env COLUMN=weight"},
	{command: "# A sweep: one task for each combination"},
	{command: "cd ../sweep"},
	{command: "k8s-cli jobs submit -d task.yaml --grid RATE=0.1,0.01 --grid EPOCHS=10,100"},
	{command: "k8s-cli jobs list --watch", interrupt: hasEnded(4)},
	{command: "k8s-cli jobs logs $(k8s-cli jobs list --name sweep -q)"},
	{command: "# A task whose GPUs this cluster does not have"},
	{command: "k8s-cli jobs submit -d ../gpu/task.yaml"},
	{command: "k8s-cli nodes"},
	{command: "k8s-cli jobs status @last"},
	{command: "k8s-cli jobs stop @last"},
	{command: "k8s-cli jobs list"},
}

// hasEnded reports whether a list shows that all tasks of a sweep have completed.
func hasEnded(sweep int) func(string) bool {
	return func(list string) bool {
		completed := 0
		for line := range strings.Lines(list) {
			if strings.Contains(line, " sweep ") && strings.Contains(line, " completed ") {
				completed++
			}
		}
		return completed == sweep
	}
}

// The pauses of the user of the session.
type pace struct {
	key    time.Duration // between two characters
	before time.Duration // before the first character of a command
	enter  time.Duration // before the end of a command
}

// play types the steps into the shell.
func play(ctx context.Context, s *shell, steps []step, p pace) error {
	if err := s.awaitPrompt(ctx); err != nil {
		return err
	}
	for _, next := range steps {
		if err := s.perform(ctx, next, p); err != nil {
			return fmt.Errorf("%s: %w", next.command, err)
		}
	}
	return nil
}

// perform types the command of a step and waits until the shell reads the next command.
func (s *shell) perform(ctx context.Context, next step, p pace) error {
	typed := func(text string) bool { return strings.HasSuffix(text, prompt+next.command+"\n") }
	err := firstError(
		func() error { return sleep(ctx, p.before) },
		func() error { return s.press(ctx, next.command, p.key) },
		func() error { return s.await(ctx, "the command", typed) },
		func() error { return sleep(ctx, p.enter) },
		func() error { return s.press(ctx, "\r", 0) },
	)
	if err == nil && next.interrupt != nil {
		output := func(text string) bool { return next.interrupt(text[strings.LastIndex(text, next.command)+1:]) }
		err = firstError(
			func() error { return s.await(ctx, "its output", output) },
			func() error { return sleep(ctx, 2*p.before) },
			func() error { return s.press(ctx, "\x03", 0) },
		)
	}
	if err != nil {
		return err
	}
	return s.awaitPrompt(ctx)
}

// firstError calls functions until one of them fails.
func firstError(all ...func() error) error {
	for _, next := range all {
		if err := next(); err != nil {
			return err
		}
	}
	return nil
}
