// Package live shows a list on a terminal and keeps it up to date.
package live

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/redraw"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// The pace and the size of a live list.
const (
	Pause      = 300 * time.Millisecond // between two requests for a list that changes all the time
	clock      = time.Second            // between two redraws of a list whose ages change
	BesideRows = 4                      // lines of the screen that are no rows
)

// A List is a list that a terminal shows and keeps up to date. Events only say that the
// list has changed: the list is requested again, at most a few times a second and at most as
// many rows as the terminal has, however many events there are.
type List struct {
	Kind     task.Kind
	AllUsers bool
	Load     func(ctx context.Context, rows int) error // requests at most this number of rows
	Print    func(b *strings.Builder, s show.Style)    // prints the loaded rows
}

// Run shows the list until ctx ends, or until the process gets SIGTERM.
func (l List) Run(ctx context.Context, c *client.Client, p *console.Console) error {
	ctx, quit := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer quit()
	listening, end := context.WithCancel(ctx)
	defer end()
	stream, err := c.Subscribe(listening, client.EventSource{AllUsers: l.AllUsers})
	if err != nil {
		return err
	}
	s := redraw.New(p.Out)
	defer s.Close()
	changed, failed := make(chan struct{}, 1), make(chan error, 1)
	changed <- struct{}{}
	var events sync.WaitGroup
	events.Go(func() {
		failed <- l.listen(stream, changed)
		stream.Close()
	})
	err = l.redraw(ctx, p, s, changed, failed)
	end()
	events.Wait()
	if ctx.Err() != nil {
		fmt.Fprintln(p.Out) // ends the line in which the terminal shows ^C
		return exit.Silent(exit.Interrupted)
	}
	return err
}

// listen says on changed that an event of the list has come, until the stream ends.
func (l List) listen(stream *client.EventStream, changed chan<- struct{}) error {
	for {
		event, err := stream.Next()
		if err != nil {
			return err
		}
		if event.Kind != l.Kind {
			continue
		}
		select {
		case changed <- struct{}{}:
		default: // the list is requested anyway
		}
	}
}

func (l List) redraw(ctx context.Context, p *console.Console, s *redraw.Screen, changed <-chan struct{}, failed <-chan error) error {
	second := time.NewTicker(clock)
	defer second.Stop()
	next := changed // nil during the pause after a request
	var pause <-chan time.Time
	columns, rows := p.Size()
	for {
		stale := false // the loaded rows are not those of now, or not those of this screen
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			return err
		case <-pause:
			next, pause = changed, nil
			continue
		case <-second.C:
		case <-next:
			stale = true
		}
		if wide, high := p.Size(); wide != columns || high != rows {
			columns, rows, stale = wide, high, true
			if err := s.Clear(); err != nil {
				return err
			}
		}
		if stale {
			if err := l.Load(ctx, max(rows-BesideRows, 1)); err != nil {
				return err
			}
			next, pause = nil, time.After(Pause)
		}
		var b strings.Builder
		style := p.Style
		style.Width = columns
		l.Print(&b, style)
		if err := errors.Join(s.Draw(b.String()), p.Out.Err()); err != nil {
			return err
		}
	}
}
