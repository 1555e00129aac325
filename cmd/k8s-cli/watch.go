package main

import (
	"context"
	"errors"

	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

const watchHelp = "print the list, then a line for each change; json and yaml print the list, then events"

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
	table, columns := show.NewLive(p.Out, p.Style), p.columns(l.details, l.allUsers)
	known := map[string]task.Status{}
	list := func() error {
		tasks, err := c.Tasks(ctx, l.allUsers)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			known[t.ID] = t
		}
		tasks = l.choose(tasks)
		tasks = tasks[:min(len(tasks), l.most(p.format))]
		if p.format.IsData() {
			return p.record(task.List{Tasks: tasks})
		}
		table.Tasks(columns, tasks...)
		return nil
	}
	return watch(ctx, c, p, task.KindTask, l.allUsers, list, func(event task.Event) {
		t, isKnown := known[event.TaskID]
		if !isKnown {
			if fresh, err := c.Task(ctx, event.TaskID); err == nil {
				t = fresh
			} else {
				t = task.Status{ID: event.TaskID, Name: event.Name, CreatedAt: event.Time, Metadata: task.Metadata{User: event.User}}
			}
		}
		was := t.Phase
		t.Phase, t.Metadata.Reason, t.Metadata.Message = task.Phase(event.Status), event.Reason, event.Message
		known[t.ID] = t
		if event.Type == task.EventProgress && !columns.Reason || isKnown && was == t.Phase && event.Type == task.EventPhase {
			return // the row would be the same
		}
		if len(l.choose([]task.Status{t})) > 0 {
			table.Tasks(columns, t)
		}
	})
}

// watchVolumes prints the volumes, and prints a volume again when it changes.
func watchVolumes(ctx context.Context, c *client.Client, p *printer, details, allUsers bool) error {
	table, columns := show.NewLive(p.Out, p.Style), p.columns(details, allUsers)
	known := map[string]task.VolumeStatus{}
	list := func() error {
		volumes, err := c.Volumes(ctx, allUsers)
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
