package supervise

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func script(t *testing.T, name, text string) Program {
	t.Helper()
	return Program{Name: name, Path: "/bin/sh", Args: []string{"-c", text}, Log: filepath.Join(t.TempDir(), name+".log")}
}

// eventually waits until ok, which is asked often enough for a test.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("never seen: %s", what)
		}
	}
}

func TestADeadProgramIsStartedAgain(t *testing.T) {
	g := New(slog.New(slog.DiscardHandler))
	g.Start(script(t, "sleeper", "exec sleep 60"))
	defer g.Stop()
	running := func() bool { return g.States()[0].PID != 0 }
	eventually(t, "the first start", running)
	first := g.States()[0].PID
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second start", func() bool { return running() && g.States()[0].PID != first })
	if s := g.States()[0]; s.Deaths != 1 || s.Last != "signal: killed" {
		t.Errorf("state = %+v, want one death by a signal", s)
	}
}

func TestAProgramThatKeepsDyingIsToldWithItsLastWords(t *testing.T) {
	g := New(slog.New(slog.DiscardHandler))
	g.Start(script(t, "crasher", "echo no such luck; exit 3"))
	defer g.Stop()
	eventually(t, "an error", func() bool { return g.Check("crasher") != nil })
	err := g.Check("crasher")
	if !errors.Is(err, ErrKeepsDying) || !strings.Contains(err.Error(), "no such luck") {
		t.Errorf("Check = %v, want ErrKeepsDying and the last line of the log", err)
	}
}

func TestStopEndsTheLastOneFirst(t *testing.T) {
	g := New(slog.New(slog.DiscardHandler))
	order := filepath.Join(t.TempDir(), "order")
	for _, name := range []string{"one", "two", "three"} {
		g.Start(script(t, name, "trap 'echo "+name+" >> "+order+"; exit' TERM; echo up; while :; do sleep 0.01; done"))
	}
	for _, m := range g.members {
		eventually(t, "a trap in "+m.program.Name, func() bool {
			b, _ := os.ReadFile(m.program.Log)
			return len(b) > 0
		})
	}
	g.Stop()
	b, err := os.ReadFile(order)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(string(b)); strings.Join(got, " ") != "three two one" {
		t.Errorf("ended in the order %v", got)
	}
}

func TestStopDoesNotWaitForTheDeaf(t *testing.T) {
	g := New(slog.New(slog.DiscardHandler))
	p := script(t, "deaf", "trap '' TERM; echo up; while :; do sleep 0.01; done")
	p.Grace = 50 * time.Millisecond
	g.Start(p)
	eventually(t, "a deaf program", func() bool { b, _ := os.ReadFile(p.Log); return len(b) > 0 })
	pid := g.States()[0].PID
	g.Stop()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d: %v, want it gone", pid, err)
	}
}

func TestBackoff(t *testing.T) {
	for _, tt := range []struct {
		name string
		runs []time.Duration
		want time.Duration
	}{
		{"the first death waits little", []time.Duration{0}, firstDelay},
		{"each death waits twice as long", []time.Duration{0, 0, 0}, 4 * firstDelay},
		{"but not for ever", make([]time.Duration, 50), longest},
		{"a long life is forgiven", []time.Duration{0, 0, 0, time.Hour}, firstDelay},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b backoff
			var got time.Duration
			for _, ran := range tt.runs {
				got = b.after(ran)
			}
			if got != tt.want {
				t.Errorf("pause = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestStartAfterStopDoesNothing(t *testing.T) {
	g := New(slog.New(slog.DiscardHandler))
	g.Stop()
	g.Start(script(t, "late", "exec sleep 60"))
	if states := g.States(); len(states) > 0 {
		t.Errorf("after Stop, Start added %+v", states)
	}
	g.Stop() // returns, although sleep would run for a minute
}
