package main

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
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// The pace and the size of a live list.
const (
	livePause  = 300 * time.Millisecond // between two requests for a list that changes all the time
	liveClock  = time.Second            // between two redraws of a list whose ages change
	besideRows = 4                      // lines of the screen that are no rows
)

// A liveList is a list that a terminal shows and keeps up to date. Events only say that the
// list has changed: the list is requested again, at most a few times a second and at most as
// many rows as the terminal has, however many events there are.
type liveList struct {
	kind     task.Kind // of the events that change the list; empty for none
	allUsers bool
	every    time.Duration                             // also request the list this often; 0 means only after events
	load     func(ctx context.Context, rows int) error // requests at most this number of rows
	print    func(b *strings.Builder, s show.Style)    // prints the loaded rows
}

// run shows the list until ctx ends, or until the process gets SIGTERM.
func (l liveList) run(ctx context.Context, c *client.Client, p *console.Console) error {
	ctx, quit := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer quit()
	listening, end := context.WithCancel(ctx)
	defer end()
	stream, err := c.Subscribe(listening, client.EventSource{AllUsers: l.allUsers})
	if err != nil {
		return err
	}
	s := console.NewScreen(p.Out)
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
func (l liveList) listen(stream *client.EventStream, changed chan<- struct{}) error {
	for {
		event, err := stream.Next()
		if err != nil {
			return err
		}
		if event.Kind != l.kind {
			continue
		}
		select {
		case changed <- struct{}{}:
		default: // the list is requested anyway
		}
	}
}

func (l liveList) redraw(ctx context.Context, p *console.Console, s *console.Screen, changed <-chan struct{}, failed <-chan error) error {
	second := time.NewTicker(liveClock)
	defer second.Stop()
	next := changed // nil during the pause after a request
	var pause <-chan time.Time
	columns, rows := p.Size()
	var loaded time.Time
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
			stale = l.every > 0 && time.Since(loaded) >= l.every
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
			if err := l.load(ctx, max(rows-besideRows, 1)); err != nil {
				return err
			}
			next, pause, loaded = nil, time.After(livePause), time.Now()
		}
		var b strings.Builder
		style := p.Style
		style.Width = columns
		l.print(&b, style)
		if err := errors.Join(s.Draw(b.String()), p.Out.Err()); err != nil {
			return err
		}
	}
}
