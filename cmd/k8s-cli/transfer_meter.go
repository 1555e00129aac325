package main

import (
	"fmt"
	"time"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/pack"
)

const (
	lineAfter = time.Second            // what takes less is not worth a line
	lineEvery = 200 * time.Millisecond // between two changes of it
)

// A meter is one line on a terminal that says how far something is, which goes
// when that is over. Elsewhere it says nothing.
type meter struct {
	screen *console.Console
	what   string
	next   time.Time
	shown  bool
}

func newMeter(screen *console.Console, what string) *meter {
	return &meter{screen: screen, what: what, next: time.Now().Add(lineAfter)}
}

// show says how much is done, in bytes; a total of 0 is not known.
func (m *meter) show(done, total int64) {
	now := time.Now()
	if !m.screen.ErrStyle.Live || now.Before(m.next) {
		return
	}
	m.shown, m.next = true, now.Add(lineEvery)
	text := m.what
	if total > 0 {
		text += fmt.Sprintf(": %s of %s", pack.Size(done), pack.Size(total))
	}
	m.screen.Line(text)
}

// clear takes the line away.
func (m *meter) clear() {
	if m.shown {
		m.screen.Line("")
	}
}
