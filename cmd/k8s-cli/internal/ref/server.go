package ref

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/query"
)

// The functions of this file find objects with requests to a server.

// Help explains in the help of a command what an id may be.
const Help = `ID is the id of a task, the beginning of an id, the name of a task, or @last for
your newest task.`

// OfTask returns a function that calls do with the id of the task that a text means.
func OfTask[T any](ctx context.Context, c *client.Client, do func(id string) (T, error)) func(text string) (T, error) {
	return Of(ctx, c, task.KindTask, do)
}

// OfVolume returns a function that calls do with the id of the volume that a text means.
func OfVolume[T any](ctx context.Context, c *client.Client, do func(id string) (T, error)) func(text string) (T, error) {
	return Of(ctx, c, task.KindVolume, do)
}

// Of returns a function that calls do with the id of the object that a text means.
func Of[T any](ctx context.Context, c *client.Client, kind task.Kind, do func(id string) (T, error)) func(text string) (T, error) {
	list := tasksOf(c)
	if kind == task.KindVolume {
		list = volumesOf(c)
	}
	return func(text string) (T, error) { return Do(ctx, kind, text, list, do) }
}

// Task returns the status of the task that text means.
func Task(ctx context.Context, c *client.Client, text string) (task.Status, error) {
	return OfTask(ctx, c, func(id string) (task.Status, error) { return c.Task(ctx, id) })(text)
}

// Volume returns the status of the volume that text means.
func Volume(ctx context.Context, c *client.Client, text string) (task.VolumeStatus, error) {
	return OfVolume(ctx, c, func(id string) (task.VolumeStatus, error) { return c.Volume(ctx, id) })(text)
}

// ChangingHelp explains in the help of a command that changes a task what an id may be.
const ChangingHelp = `ID is the id of a task, at least four characters of the beginning of an id, the
name of a task, or @last for your newest task.`

// TaskToChange is Task for commands that change the task: of an id, they take at least leastStart
// characters.
func TaskToChange(ctx context.Context, c *client.Client, text string) (task.Status, error) {
	return Do(ctx, task.KindTask, text, careful(task.KindTask, tasksOf(c)), func(id string) (task.Status, error) { return c.Task(ctx, id) })
}

// TaskToStop is TaskToChange, except that a name means only the active tasks of this name, if there
// are any.
func TaskToStop(ctx context.Context, c *client.Client, text string) (task.Status, error) {
	return Do(ctx, task.KindTask, text, careful(task.KindTask, activeFirst(tasksOf(c))), func(id string) (task.Status, error) { return c.Task(ctx, id) })
}

// VolumeToChange is Volume for commands that change the volume.
func VolumeToChange(ctx context.Context, c *client.Client, text string) (task.VolumeStatus, error) {
	return Do(ctx, task.KindVolume, text, careful(task.KindVolume, volumesOf(c)), func(id string) (task.VolumeStatus, error) { return c.Volume(ctx, id) })
}

// tasksOf returns the tasks that a text may mean: the newest task, the tasks with this name,
// or all tasks, because the server cannot search for the beginning of an id.
func tasksOf(c *client.Client) Lister {
	return func(ctx context.Context, text string) ([]Object, error) {
		if text == Last {
			page, err := c.RowPage(ctx, query.Tasks{Limit: 1})
			return objects(page.Items), err
		}
		page, err := c.RowPage(ctx, query.Tasks{Name: text, Limit: refPage})
		if err != nil || len(page.Items) > 0 || !isStart(text) {
			return objects(page.Items), err
		}
		var all []Object
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

// activeFirst is list, except that a name means only the active tasks of this name, if there are any.
func activeFirst(list Lister) Lister {
	return func(ctx context.Context, text string) ([]Object, error) {
		all, err := list(ctx, text)
		active := slices.DeleteFunc(slices.Clone(all), func(o Object) bool { return o.Name != text || task.Phase(o.Phase).Over() })
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

func objects(rows []overview.Row) []Object {
	all := make([]Object, len(rows))
	for i, r := range rows {
		all[i] = Object{ID: r.ID, Name: r.Name, Phase: string(r.Phase), Created: overview.Time(r.Created)}
	}
	return all
}

func volumesOf(c *client.Client) Lister {
	return func(ctx context.Context, _ string) ([]Object, error) {
		volumes, err := c.Volumes(ctx, false)
		objects := make([]Object, len(volumes))
		for i, v := range volumes {
			objects[i] = Object{ID: v.ID, Name: v.Name, Phase: v.Phase, Created: v.CreatedAt}
		}
		return objects, err
	}
}
