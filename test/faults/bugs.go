package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s-cli/test/faults/bugs"
	"k8s-cli/test/faults/check"
	"k8s-cli/test/faults/rig"
)

// bugPatience is short, because a bug may prevent a scenario from ending. One round of lagging
// takes about a minute.
const bugPatience = 2 * time.Minute

// catch builds a server with each seeded bug and requires that the bug's scenario reports a
// violation of the expected kind.
func catch(ctx context.Context, o options, out io.Writer) error {
	var missed []string
	tried := 0
	for _, b := range bugs.All {
		if o.bugs != "all" && !slices.Contains(strings.Split(o.bugs, ","), b.Name) {
			continue
		}
		tried++
		caught, err := tryBug(ctx, o, b, out)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			fmt.Fprintf(out, "bug %s: %v\n", b.Name, err)
		}
		if caught == nil {
			missed = append(missed, b.Name)
			fmt.Fprintf(out, "NOT CAUGHT %s: %s\n\n", b.Name, b.About)
			continue
		}
		fmt.Fprintf(out, "CAUGHT %s (%s): %s\n\n", b.Name, b.About, caught)
	}
	fmt.Fprintf(out, "seeded bugs: %d of %d caught\n", tried-len(missed), tried)
	switch {
	case tried == 0:
		return fmt.Errorf("-bugs: none is called %q", o.bugs)
	case len(missed) > 0:
		return fmt.Errorf("seeded bugs that were not caught: %s", strings.Join(missed, ", "))
	}
	return nil
}

// tryBug returns the violation that exposed a bug, or nil.
func tryBug(ctx context.Context, o options, b bugs.Bug, out io.Writer) (*check.Violation, error) {
	s, err := find(b.Scenario)
	if err != nil {
		return nil, err
	}
	overlay, err := overlayOf(ctx, b)
	if err != nil {
		return nil, err
	}
	server, cleanup, err := build(ctx, overlay, out)
	if err != nil {
		return nil, err
	}
	defer cleanup()
	o.rounds, o.tasks, o.patience = b.Rounds, b.Tasks, bugPatience
	found, err := perform(ctx, o, s, server, out)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(found, func(v check.Violation) bool { return v.Subject != "" && slices.Contains(b.Rules, v.Rule) })
	if i < 0 {
		return nil, nil // the bug was not caught, but nothing failed
	}
	return &found[i], nil
}

// overlayOf returns the changed text of every file that a bug changes.
func overlayOf(ctx context.Context, b bugs.Bug) (map[string]string, error) {
	root, err := rig.Root(ctx)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, file := range b.Files() {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, fmt.Errorf("bug %s: %w", b.Name, err)
		}
		if files[file], err = b.Apply(file, string(text)); err != nil {
			return nil, err
		}
	}
	if len(files) == 0 {
		return nil, errors.New("it changes nothing")
	}
	return files, nil
}
