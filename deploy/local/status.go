//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"k8s-cli/deploy/local/cluster"
	"k8s-cli/deploy/local/control"
	"k8s-cli/deploy/local/host"
	"k8s-cli/deploy/local/layout"
	"k8s-cli/deploy/local/lock"
)

// stopTime is how long a supervisor may take to stop all programs in order.
const stopTime = 60 * time.Second

// status prints the running programs.
func (c command) status(ctx context.Context) error {
	s, status, err := c.running(ctx)
	if errors.Is(err, control.ErrNobody) {
		return fmt.Errorf("no cluster runs in %s", c.layout.Dir)
	}
	if err != nil {
		return err
	}
	l := status.Layout
	fmt.Printf("cluster in %s: nodes %s, instance %d, %s\n", l.Dir, l.Nodes, l.Instance, l.URL(layout.APIServer))
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PROGRAM\tPID\tDEATHS\tLAST")
	fmt.Fprintf(table, "supervisor\t%d\t0\t\n", s.PID)
	pids := host.Children(s.PID)
	for _, p := range status.Programs {
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\n", p.Name, pids[p.PID], p.Deaths, p.Last)
	}
	return table.Flush()
}

// running returns the supervisor of the directory and its status, or control.ErrNobody. If
// the supervisor is terminating, running waits until it has exited.
func (c command) running(ctx context.Context) (*control.Supervisor, cluster.Status, error) {
	var status cluster.Status
	s, err := control.Find(c.layout.Socket())
	if err != nil {
		return nil, status, err
	}
	var text string
	if err := s.Ask(ctx, "status", func(line string) { text += line }); err != nil {
		if ctx.Err() == nil && s.Gone(stopTime) {
			return nil, status, control.ErrNobody
		}
		return nil, status, err
	}
	if err := json.Unmarshal([]byte(text), &status); err != nil {
		return nil, status, fmt.Errorf("read the supervisor's answer: %w", err)
	}
	return s, status, nil
}

// alone prevents two commands from working on one directory at the same time.
func (c command) alone(ctx context.Context) (release func(), err error) {
	return lock.Take(ctx, c.layout.Dir, func() { c.tell.Say("waiting for another command on %s", c.layout.Dir) })
}
