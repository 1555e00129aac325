package main

import (
	"context"
	"errors"
	"slices"

	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

const watchHelp = "keep the list up to date; without a terminal, print the list, then a line for each change; " +
	"json and yaml print the list, then events"

// watch calls list, then calls change for every later event until ctx ends. It subscribes
// to the events before it calls list, so that no event is lost.
func watch(ctx context.Context, c *client.Client, p *printer, kind task.Kind, allUsers bool, list func() error, change func(task.Event)) error {
	stream, err := c.Subscribe(ctx, client.EventSource{AllUsers: allUsers})
	if err != nil {
		return err
	}
	defer stream.Close()
	if err := list(); err != nil {
		return err
	}
	for {
		event, err := stream.Next()
		switch {
		case err != nil:
			return err
		case event.Kind != kind:
			continue
		case p.format.IsData():
			err = p.record(event)
		default:
			change(event)
		}
		if err = errors.Join(err, p.Out.Err()); err != nil {
			return err
		}
	}
}

// watchTasks prints the tasks that l selects, and prints a task again when it changes.
func watchTasks(ctx context.Context, c *client.Client, p *printer, l listing) error {
	columns := p.columns(l.details, l.query.AllUsers)
	w := rowWatch{client: c, table: show.NewLive(p.Out, p.Style), columns: columns, phases: l.query.Phases, known: map[string]show.Row{}}
	list := func() error {
		if p.format.IsData() {
			page, err := c.TaskPage(ctx, l.limited(p.format))
			if err != nil {
				return err
			}
			return p.record(task.List{Tasks: append([]task.Status{}, page.Items...)})
		}
		page, err := rowsOf(ctx, c, l.limited(p.format), columns)
		if err != nil {
			return err
		}
		for _, r := range page.Items {
			w.known[r.ID] = r
		}
		w.table.Rows(columns, page.Items...)
		return nil
	}
	return watch(ctx, c, p, task.KindTask, l.query.AllUsers, list, func(e task.Event) { w.change(ctx, e) })
}

// A rowWatch prints a row for each change of a task.
type rowWatch struct {
	client  *client.Client
	table   *show.Live
	columns show.Columns
	phases  []task.Phase // empty for all
	known   map[string]show.Row
}

func (w rowWatch) change(ctx context.Context, event task.Event) {
	r, isKnown := w.known[event.TaskID]
	if !isKnown {
		fresh, err := w.client.Task(ctx, event.TaskID)
		if err != nil {
			fresh = task.Status{ID: event.TaskID, Name: event.Name, CreatedAt: event.Time, Metadata: task.Metadata{User: event.User}}
		}
		r = show.RowOf(fresh)
	}
	was := r.Phase
	r.Phase, r.Reason, r.Message = task.Phase(event.Status), event.Reason, event.Message
	if at := event.Time.Unix(); r.Phase == task.Running && r.Started == 0 {
		r.Started = at
	} else if r.Phase.Over() && r.Ended == 0 {
		r.Ended = at
	}
	w.known[r.ID] = r
	if event.Type == task.EventProgress && !w.columns.Reason || isKnown && was == r.Phase && event.Type == task.EventPhase {
		return
	}
	if len(w.phases) == 0 || slices.Contains(w.phases, r.Phase) {
		w.table.Rows(w.columns, r)
	}
}

// watchVolumes prints the volumes, and prints a volume again when it changes.
func watchVolumes(ctx context.Context, c *client.Client, p *printer, columns show.Columns, allUsers bool) error {
	table := show.NewLive(p.Out, p.Style)
	known := map[string]task.VolumeStatus{}
	list := func() error {
		volumes, err := sortedVolumes(ctx, c, allUsers)
		if err != nil {
			return err
		}
		for _, v := range volumes {
			known[v.ID] = v
		}
		if p.format.IsData() {
			return p.record(task.VolumeList{Volumes: volumes})
		}
		table.Volumes(columns, volumes...)
		return nil
	}
	return watch(ctx, c, p, task.KindVolume, allUsers, list, func(event task.Event) {
		v, isKnown := known[event.VolumeID]
		if !isKnown {
			if fresh, err := c.Volume(ctx, event.VolumeID); err == nil {
				v = fresh
			} else {
				v = task.VolumeStatus{ID: event.VolumeID, Name: event.Name, CreatedAt: event.Time, Metadata: task.VolumeMetadata{User: event.User}}
			}
		}
		was := v.Phase
		v.Phase, v.Metadata.Reason, v.Metadata.Message = event.Status, event.Reason, event.Message
		known[v.ID] = v
		if event.Type == task.EventProgress && !columns.Reason || isKnown && was == v.Phase && event.Type == task.EventPhase {
			return
		}
		table.Volumes(columns, v)
	})
}
