package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/redraw"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

const (
	redrawPause = 300 * time.Millisecond // between two requests for a list that changes all the time
	clockPause  = time.Second            // between two redraws of a list whose ages change
	besideRows  = 4                      // lines of the screen that are no rows
)

// A liveList is a list that a terminal shows and keeps up to date. Events only say that the
// list has changed: the list is requested again, at most a few times a second and at most as
// many rows as the terminal has, however many events there are.
type liveList struct {
	kind     task.Kind
	allUsers bool
	load     func(ctx context.Context, rows int) error // requests at most this number of rows
	print    func(b *strings.Builder, s show.Style)    // prints the loaded rows
}

// isLive reports whether the output is a terminal on which a list can be redrawn.
func (p *printer) isLive() bool { return !p.format.IsData() && p.Style.Live && p.Size != nil }

// run shows the list until the user interrupts the command.
func (l liveList) run(ctx context.Context, e *env, c *client.Client, p *printer) error {
	ctx, stop := e.interrupts(ctx)
	defer stop()
	ctx, quit := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer quit()
	stream, err := c.Subscribe(ctx, client.EventSource{AllUsers: l.allUsers})
	if err != nil {
		return err
	}
	defer stream.Close()
	s := redraw.New(p.Out)
	defer s.Close()
	changed, failed := make(chan struct{}, 1), make(chan error, 1)
	changed <- struct{}{}
	go func() { failed <- l.listen(stream, changed) }()
	err = l.redraw(ctx, p, s, changed, failed)
	if ctx.Err() != nil {
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

func (l liveList) redraw(ctx context.Context, p *printer, s *redraw.Screen, changed <-chan struct{}, failed <-chan error) error {
	clock := time.NewTicker(clockPause)
	defer clock.Stop()
	next := changed // nil during the pause after a request
	var pause <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			return err
		case <-pause:
			next, pause = changed, nil
			continue
		case <-clock.C:
		case <-next:
			_, rows := p.Size()
			if err := l.load(ctx, max(rows-besideRows, 1)); err != nil {
				return err
			}
			next, pause = nil, time.After(redrawPause)
		}
		var b strings.Builder
		style := p.Style
		style.Width, _ = p.Size()
		l.print(&b, style)
		if err := errors.Join(s.Draw(b.String()), p.Out.Err()); err != nil {
			return err
		}
	}
}

// liveTasks returns the live list of the tasks that l selects.
func liveTasks(c *client.Client, p *printer, l listing) liveList {
	columns := p.columns(l.details, l.query.AllUsers)
	var page client.Page[show.Row]
	return liveList{
		kind: task.KindTask, allUsers: l.query.AllUsers,
		load: func(ctx context.Context, rows int) (err error) {
			q := l.limited(p.format)
			if q.Limit == 0 || q.Limit > rows {
				q.Limit = rows
			}
			page, err = rowsOf(ctx, c, q, columns)
			return err
		},
		print: func(b *strings.Builder, s show.Style) {
			show.Rows(b, s, page.Items, columns)
			writeTotal(b, task.KindTask, len(page.Items), page.Total)
		},
	}
}

// liveVolumes returns the live list of the volumes.
func liveVolumes(c *client.Client, columns show.Columns, allUsers bool) liveList {
	var volumes []task.VolumeStatus
	shown := 0
	return liveList{
		kind: task.KindVolume, allUsers: allUsers,
		load: func(ctx context.Context, rows int) (err error) {
			volumes, err = sortedVolumes(ctx, c, allUsers)
			shown = min(rows, len(volumes))
			return err
		},
		print: func(b *strings.Builder, s show.Style) {
			show.Volumes(b, s, volumes[:shown], columns)
			writeTotal(b, task.KindVolume, shown, len(volumes))
		},
	}
}

func writeTotal(b *strings.Builder, kind task.Kind, shown, total int) {
	if total > shown {
		fmt.Fprintf(b, "\nTotal %ss: %s (%s fit on this screen)\n", kind, show.Count(total), show.Count(shown))
		return
	}
	fmt.Fprintf(b, "\nTotal %ss: %s\n", kind, show.Count(shown))
}
