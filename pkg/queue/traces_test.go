package queue

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// An entry carries the traces of its commands, appended singly or in a batch, and stays below
// its size limit.
func TestEntriesHaveTheTracesOfTheirCommands(t *testing.T) {
	t.Parallel()
	log, folded := start(t)
	traced := func(id string) task.Command {
		c := natstest.Submission(id)
		c.Submit.Trace = "00-" + strings.Repeat(id[:1], 32) + "-00f067aa0ba902b7-01"
		return c
	}
	var all sync.WaitGroup
	for caller := range 200 {
		all.Go(func() {
			if _, err := log.Append(t.Context(), traced(fmt.Sprintf("a%d", caller))); err != nil {
				t.Error(err)
			}
			log.put(t, fmt.Sprintf("-%d", caller))
		})
	}
	var many []task.Command
	batch := natstest.Rounds(5000)
	for i := range batch {
		many = append(many, traced(fmt.Sprintf("b%d", i)))
	}
	_, errs := log.AppendBatch(t.Context(), many)
	for _, err := range errs {
		must.Succeed(t, err)
	}
	all.Wait()
	seen := 0
	for _, e := range folded.stored() {
		parents := make([]string, len(e.Commands))
		for _, of := range e.Traces {
			for i := range of.Count {
				parents[of.First+i] = of.Parent
			}
		}
		for i, raw := range e.Commands {
			c, err := task.DecodeCommand(raw)
			must.Succeed(t, err)
			want := ""
			if id := c.Submit.ID; id[0] != '-' {
				want, seen = traced(id).Submit.Trace, seen+1
			}
			if parents[i] != want {
				t.Fatalf("%s was asked for by %q, want %q", c.Submit.ID, parents[i], want)
			}
		}
		if raw, err := e.Encode(); err != nil || len(raw) > maxEntry+1024 {
			t.Errorf("an entry of %d commands has %d bytes, %v", len(e.Commands), len(raw), err)
		}
	}
	if seen != batch+200 {
		t.Errorf("%d commands were traced", seen)
	}
}
