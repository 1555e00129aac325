package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/query"
)

// The functions of this file connect package ref to the client. Every command that takes
// ids also takes the beginning of an id, a name, or @last.

const refHelp = `ID is the id of a task, the beginning of an id, the name of a task, or @last for
your newest task.`

// ofTask returns a function that calls do with the id of the task that a text means.
func ofTask[T any](ctx context.Context, c *client.Client, do func(id string) (T, error)) func(text string) (T, error) {
	return of(ctx, c, task.KindTask, do)
}

// ofVolume returns a function that calls do with the id of the volume that a text means.
func ofVolume[T any](ctx context.Context, c *client.Client, do func(id string) (T, error)) func(text string) (T, error) {
	return of(ctx, c, task.KindVolume, do)
}

func of[T any](ctx context.Context, c *client.Client, kind task.Kind, do func(id string) (T, error)) func(text string) (T, error) {
	list := tasksOf(c)
	if kind == task.KindVolume {
		list = volumesOf(c)
	}
	return func(text string) (T, error) { return ref.Do(ctx, kind, text, list, do) }
}

// findTask returns the status of the task that text means.
func findTask(ctx context.Context, c *client.Client, text string) (task.Status, error) {
	return ofTask(ctx, c, func(id string) (task.Status, error) { return c.Task(ctx, id) })(text)
}

// findVolume returns the status of the volume that text means.
func findVolume(ctx context.Context, c *client.Client, text string) (task.VolumeStatus, error) {
	return ofVolume(ctx, c, func(id string) (task.VolumeStatus, error) { return c.Volume(ctx, id) })(text)
}

// tasksOf returns the tasks that a text may mean: the newest task, the tasks with this name,
// or all tasks, because the server cannot search for the beginning of an id.
func tasksOf(c *client.Client) ref.Lister {
	return func(ctx context.Context, text string) ([]ref.Object, error) {
		if text == ref.Last {
			page, err := c.RowPage(ctx, query.Tasks{Limit: 1})
			return objects(page.Items), err
		}
		page, err := c.RowPage(ctx, query.Tasks{Name: text, Limit: refPage})
		if err != nil || len(page.Items) > 0 || !isStart(text) {
			return objects(page.Items), err
		}
		var all []ref.Object
		pages := 0
		for page, err := range c.RowPages(ctx, query.Tasks{Limit: refPage}) {
			if pages++; pages > maxRefPages {
				return nil, fmt.Errorf("too many tasks to search for an id that begins with %q; pass the whole id", text)
			}
			if err != nil {
				return nil, err
			}
			for _, o := range objects(page.Items) {
				if strings.HasPrefix(o.ID, text) {
					all = append(all, o)
				}
			}
		}
		return all, nil
	}
}

// activeFirst is tasksOf for commands that act on active tasks: a name means only the active
// tasks of this name, if there are any.
func activeFirst(c *client.Client) ref.Lister {
	list := tasksOf(c)
	return func(ctx context.Context, text string) ([]ref.Object, error) {
		all, err := list(ctx, text)
		active := slices.DeleteFunc(slices.Clone(all), func(o ref.Object) bool { return o.Name != text || task.Phase(o.Phase).Over() })
		if len(active) == 0 {
			return all, err
		}
		return active, err
	}
}

const (
	refPage     = 10_000 // tasks in one response
	maxRefPages = 100
)

// isStart reports whether text can be the beginning of the id of a task.
func isStart(text string) bool {
	return len(text) < idLength && !strings.ContainsFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}

const idLength = 8

func objects(rows []overview.Row) []ref.Object {
	all := make([]ref.Object, len(rows))
	for i, r := range rows {
		all[i] = ref.Object{ID: r.ID, Name: r.Name, Phase: string(r.Phase), Created: overview.Time(r.Created)}
	}
	return all
}

func volumesOf(c *client.Client) ref.Lister {
	return func(ctx context.Context, _ string) ([]ref.Object, error) {
		volumes, err := c.Volumes(ctx, false)
		objects := make([]ref.Object, len(volumes))
		for i, v := range volumes {
			objects[i] = ref.Object{ID: v.ID, Name: v.Name, Phase: v.Phase, Created: v.CreatedAt}
		}
		return objects, err
	}
}
