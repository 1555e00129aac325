package main

import (
	"fmt"
	"io"
	"time"

	"k8s-cli/cmd/k8s-cli/internal/pack"
)

const (
	lineAfter = time.Second            // what takes less is not worth a line
	lineEvery = 200 * time.Millisecond // between two changes of it
)

// A progress is one line on a terminal that says how far something is, which
// goes when that is over. Elsewhere it says nothing.
type progress struct {
	to    io.Writer // nil if nobody looks
	what  string
	began time.Time
	next  time.Time
	shown bool
}

func (e *env) line(what string) *progress {
	now := time.Now()
	return &progress{to: e.terminal, what: what, began: now, next: now.Add(lineAfter)}
}

// show says how much is done, in bytes; a total of 0 is not known.
func (p *progress) show(done, total int64) {
	now := time.Now()
	if p.to == nil || now.Before(p.next) {
		return
	}
	p.shown, p.next = true, now.Add(lineEvery)
	text := p.what
	if total > 0 {
		text += fmt.Sprintf(": %s of %s", pack.Size(done), pack.Size(total))
	}
	fmt.Fprintf(p.to, "\r\x1b[K%s", text)
}

// clear takes the line away.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
}
