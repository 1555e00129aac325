package testkit

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func sh(t *testing.T, script string) *Process {
	t.Helper()
	return Command{Program: "/bin/sh", Args: []string{"-c", script}, Home: t.TempDir(), Env: []string{"NAME=value"}}.Run(t)
}

func TestAddressIsReadFromTheReadyLine(t *testing.T) {
	p := sh(t, `echo "$NAME $HOME"; printf 'level=INFO msg=rea'; sleep 0.1; printf 'dy listen=127.0.0.1:8000\n'; exec sleep 600`)
	if got, err := p.Address(t.Context(), time.Minute); err != nil || got != "127.0.0.1:8000" {
		t.Errorf("got %q, %v", got, err)
	}
	if l := p.Line(regexp.MustCompile(`^(value) /`)); !Closed(l.Found()) || l.Match()[1] != "value" {
		t.Errorf("a line that was said before: %q", l.Match())
	}
	if err := p.Terminate(t.Context(), time.Minute); err != nil || p.Running() {
		t.Errorf("after SIGTERM it runs: %v, %v", p.Running(), err)
	}
}

func TestServerThatEndsEarlyHasNoAddress(t *testing.T) {
	p := sh(t, "echo the reason; exit 3")
	if _, err := p.Address(t.Context(), time.Minute); err == nil || !strings.Contains(err.Error(), "the reason") {
		t.Errorf("got %v", err)
	}
	if code := p.Exit(t, time.Minute); code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
}

func TestProcessThatIgnoresSIGTERMIsKilled(t *testing.T) {
	p := sh(t, `trap "" TERM; echo ready; while :; do sleep 0.05; done`)
	Wait(t, time.Minute, "the trap", p.Line(regexp.MustCompile("ready")).Found())
	if err := p.Terminate(t.Context(), time.Millisecond); err == nil || p.Running() {
		t.Errorf("it runs: %v, %v", p.Running(), err)
	}
}

func TestTrouble(t *testing.T) {
	for text, bad := range map[string]bool{
		"a\npanic: x\n": true, "WARNING: DATA RACE\n": true, "level=ERROR msg=\"request failed\" err=x\n": true, "fatal error: all goroutines": true,
		"msg=\"panic: none\"\n": false, "level=INFO msg=ready\n": false,
	} {
		if Trouble.MatchString(text) != bad {
			t.Errorf("trouble in %q: %v", text, !bad)
		}
	}
}
