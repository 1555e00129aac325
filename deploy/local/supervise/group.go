package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
)

// ErrKeepsDying says that a program does not stay up.
var ErrKeepsDying = errors.New("keeps dying")

// tooOften is the number of deaths after which a program that has not become
// ready is given up.
const tooOften = 4

// A State is what is known of one program.
type State struct {
	Name   string `json:"name"`
	PID    int    `json:"pid"` // 0 while it is not running
	Deaths int    `json:"deaths"`
	Last   string `json:"last,omitempty"` // why it died the last time
}

type event struct {
	pid     int   // started
	err     error // died
	stopped bool  // over for good
}

// A Group is the programs of one supervisor.
type Group struct {
	log     *slog.Logger
	mu      sync.Mutex
	members []*member
	stopped bool
	wg      sync.WaitGroup
}

type member struct {
	program Program
	state   State
	cancel  context.CancelFunc
	done    chan struct{} // closed when it has stopped for good
}

// New returns an empty group that tells log of every start and every death.
func New(log *slog.Logger) *Group { return &Group{log: log} }

// Start runs p until Stop. After Stop, Start does nothing.
func (g *Group) Start(p Program) {
	ctx, cancel := context.WithCancel(context.Background())
	m := &member{program: p, state: State{Name: p.Name}, cancel: cancel, done: make(chan struct{})}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped {
		cancel()
		return
	}
	g.members = append(g.members, m)
	g.wg.Go(func() { p.run(ctx, func(e event) { g.note(m, e) }) })
}

// Stop ends all programs, the last one started first, each after the one
// before it is gone.
func (g *Group) Stop() {
	g.mu.Lock()
	g.stopped = true
	members := slices.Clone(g.members)
	g.mu.Unlock()
	for _, m := range slices.Backward(members) {
		m.cancel()
		<-m.done
	}
	g.wg.Wait()
}

// States returns the programs in the order in which they were started.
func (g *Group) States() []State {
	g.mu.Lock()
	defer g.mu.Unlock()
	states := make([]State, len(g.members))
	for i, m := range g.members {
		states[i] = m.state
	}
	return states
}

// Check returns ErrKeepsDying with the reason if the named program does.
func (g *Group) Check(name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.members {
		if m.program.Name == name && m.state.Deaths >= tooOften {
			return fmt.Errorf("%s %w (%s); its log %s ends with: %s",
				name, ErrKeepsDying, m.state.Last, m.program.Log, lastLine(m.program.Log))
		}
	}
	return nil
}

func (g *Group) note(m *member, e event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m.state.PID = e.pid
	if e.pid != 0 {
		g.log.Info("started", "program", m.program.Name, "pid", e.pid)
	}
	if e.err != nil {
		m.state.Deaths++
		m.state.Last = e.err.Error()
		g.log.Warn("died", "program", m.program.Name, "err", e.err)
	}
	if e.stopped {
		close(m.done)
	}
}

// lastLine is what a program said last, most likely the reason of its death.
func lastLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return "(unreadable)"
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}
