package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// progressPause is the time between two requests for the state of a waiting task. Polling
// is necessary because no event reports a new place in the backlog.
const progressPause = time.Second

// A progress is one line on the terminal that says what a task waits for. The first line
// of the task's log replaces it.
type progress struct {
	screen *console.Console
	out    io.Writer // of the log
	mu     sync.Mutex
	line   string // currently on the screen
	ended  bool
	pause  time.Duration // between two requests for the state
}

// Write removes the progress line, then writes a part of the log.
func (p *progress) Write(text []byte) (int, error) {
	p.end()
	return p.out.Write(text)
}

// show replaces the progress line.
func (p *progress) show(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended && line != p.line {
		p.line = line
		p.screen.Line(line)
	}
}

// end removes the progress line and prevents further ones.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended && p.line != "" {
		p.screen.Line("")
	}
	p.ended = true
}

// run updates the progress line until ctx ends.
func (p *progress) run(ctx context.Context, c *client.Client, id string) {
	for ctx.Err() == nil {
		if s, err := c.Task(ctx, id); err == nil {
			p.show(standing(s))
		}
		select {
		case <-time.After(p.pause):
		case <-ctx.Done():
		}
	}
	p.end()
}

// plainPause is the time between two requests for the state of a waiting task without a terminal.
const plainPause = 10 * time.Second

// runPlain prints a line for each new reason why the task waits, until ctx ends or the log begins. A task
// that begins soon gets no line.
func (p *progress) runPlain(ctx context.Context, c *client.Client, id string) {
	said := ""
	for {
		select {
		case <-time.After(p.pause):
		case <-ctx.Done():
			return
		}
		s, err := c.Task(ctx, id)
		if err != nil || s.Phase != task.Pending || s.Metadata.Reason == said {
			continue
		}
		said = s.Metadata.Reason
		p.mu.Lock()
		if !p.ended {
			p.screen.Say("Task %s is %s", id, standing(s))
		}
		p.mu.Unlock()
	}
}

// copyLog copies the log of a task to out. Until the log begins, it shows what the task waits for: on a
// terminal in one line, otherwise in a line for each reason.
func copyLog(ctx context.Context, screen *console.Console, c *client.Client, id string, o client.LogOptions, out io.Writer) error {
	if o.NoFollow {
		return c.Logs(ctx, id, o, out)
	}
	p := &progress{screen: screen, out: out, pause: progressPause}
	run := p.run
	if !screen.ErrStyle.Live {
		run, p.pause = p.runPlain, plainPause
	}
	watching, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { run(watching, c, id) })
	o.Interrupted = func(cause error) {
		p.end()
		interrupted(screen, id, cause)
	}
	err := c.Logs(ctx, id, o, p)
	stop()
	beside.Wait()
	return err
}

// interrupted says that the log of a task pauses.
func interrupted(screen *console.Console, id string, cause error) {
	screen.Warn("The log of task %s is interrupted, and continues when the server answers: %v", id, cause)
}

// standing describes in one line what a task waits for.
func standing(s task.Status) string {
	m := s.Metadata
	switch {
	case m.Position > 0:
		return "accepted: " + m.Message
	case m.Reason != "":
		return fmt.Sprintf("%s: %s", s.Phase, show.ReasonNow(m.Reason, m.Message))
	case s.Phase != task.Pending:
		return string(s.Phase)
	}
	hosts := 0
	for _, n := range m.Nodes {
		if n.Host != "" {
			hosts++
		}
	}
	switch {
	case hosts == 1 && len(m.Nodes) == 1:
		return "pending: scheduled on " + m.Nodes[0].Host
	case hosts > 0:
		return fmt.Sprintf("pending: %d of %d nodes scheduled", hosts, len(m.Nodes))
	}
	return "pending: accepted"
}
