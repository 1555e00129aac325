package api

import (
	"fmt"
	"io"
	"strconv"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/taskfile"
	"k8s-cli/pkg/taskfile/documents"
)

// A fileItem is one task of a file as an item of a batch.
type fileItem struct {
	task.Spec
	group.JobGroupItem

	Key   string   `json:"idempotency_key"`
	After []string `json:"after,omitempty"`
}

// readFile reads a task file, which is one task, a pipeline or a job group, as items of a batch, and
// the warnings of the parser for each item. The key of an item is key and the number of the item. Each
// task of a pipeline comes after the task before it.
func readFile(body io.Reader, key string) (items [][]byte, warnings [][]string, err error) {
	data, err := io.ReadAll(io.LimitReader(body, taskfile.MaxSize+1))
	switch {
	case err != nil:
		return nil, nil, err
	case len(data) > taskfile.MaxSize:
		return nil, nil, problem.New(problem.TooLarge, fmt.Sprintf("the task file is larger than %d bytes", taskfile.MaxSize))
	}
	f, err := documents.Split(data)
	if err != nil {
		return nil, nil, err
	}
	items, warnings = make([][]byte, len(f.Tasks)), make([][]string, len(f.Tasks))
	for i, text := range f.Tasks {
		t := fileItem{Key: itemKey(key, i)}
		if t.Spec, warnings[i], err = taskfile.Parse(text); err != nil {
			return nil, nil, errOfTask(i, err)
		}
		switch {
		case f.Parallel:
			t.JobGroupItem = f.JobGroup[i]
		case i > 0:
			t.After = []string{itemKey(key, i-1)}
		}
		if items[i], err = task.Marshal(t); err != nil {
			return nil, nil, errOfTask(i, err)
		}
	}
	return items, warnings, nil
}

// itemKey returns the idempotency key of an item of a batch with a key.
func itemKey(key string, i int) string { return key + "/" + strconv.Itoa(i) }
