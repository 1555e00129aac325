package main

import (
	"context"

	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
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

func tasksOf(c *client.Client) ref.Lister {
	return func(ctx context.Context, _ string) ([]ref.Object, error) {
		tasks, err := c.Tasks(ctx, false)
		objects := make([]ref.Object, len(tasks))
		for i, t := range tasks {
			objects[i] = ref.Object{ID: t.ID, Name: t.Name, Phase: string(t.Phase), Created: t.CreatedAt}
		}
		return objects, err
	}
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
