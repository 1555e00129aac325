package main

import (
	"fmt"
	"time"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/pack"
)

const (
	lineAfter = time.Second            // a shorter transfer shows no line
	lineEvery = 200 * time.Millisecond // minimum time between two updates
)

// A meter shows the progress of a transfer on one line of the terminal. It shows nothing
// if ErrOut is no terminal.
type meter struct {
	screen *console.Console
	what   string
	next   time.Time
	shown  bool
}

func newMeter(screen *console.Console, what string) *meter {
	return &meter{screen: screen, what: what, next: time.Now().Add(lineAfter)}
}

// show updates the line with the number of bytes done. A total of 0 means unknown.
func (m *meter) show(done, total int64) {
	now := time.Now()
	if !m.screen.ErrStyle.Live || now.Before(m.next) {
		return
	}
	m.shown, m.next = true, now.Add(lineEvery)
	text := m.what
	if total > 0 {
		text += fmt.Sprintf(": %s of %s", pack.FormatSize(done), pack.FormatSize(total))
	}
	m.screen.Line(text)
}

// clear removes the line.
func (m *meter) clear() {
	if m.shown {
		m.screen.Line("")
	}
}
