package console

import (
	"fmt"
	"io"
	"time"

	"k8s-cli/pkg/client/pack"
)

const (
	lineAfter = time.Second            // a shorter transfer shows no line
	lineEvery = 200 * time.Millisecond // minimum time between two updates
)

// A Meter shows the progress of a transfer on one line of the terminal. It shows nothing
// if ErrOut is no terminal.
type Meter struct {
	screen *Console
	what   string
	next   time.Time
	shown  bool
}

// NewMeter returns a meter for a transfer, which what describes.
func NewMeter(screen *Console, what string) *Meter {
	return &Meter{screen: screen, what: what, next: time.Now().Add(lineAfter)}
}

// Show updates the line with the number of bytes done. A total of 0 means unknown.
func (m *Meter) Show(done, total int64) {
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

// Counter returns a writer that shows how many bytes of a total it has received.
func (m *Meter) Counter(total int64) io.Writer { return &counter{meter: m, total: total} }

type counter struct {
	meter       *Meter
	done, total int64 // bytes
}

func (c *counter) Write(p []byte) (int, error) {
	c.done += int64(len(p))
	c.meter.Show(c.done, c.total)
	return len(p), nil
}

// Hurry lets the next call of Show show the line at once.
func (m *Meter) Hurry() { m.next = time.Now() }

// Clear removes the line.
func (m *Meter) Clear() {
	if m.shown {
		m.screen.Line("")
	}
}
