package features

import (
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/submit/objects"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/taskfile"
	"k8s-cli/test/testkit/must"
)

// The API server admits the Jobs of every task that the parser accepts. A rejection by the
// API server would be too late for the user: the task would fail.

const madeFiles = 4000

func TestAcceptedTasksAreAdmitted(t *testing.T) {
	t.Parallel()
	c := join(t)
	jobs := c.BatchV1().Jobs(c.namespace)
	var mu sync.Mutex
	accepted := 0
	var workers sync.WaitGroup
	for worker := range 8 {
		workers.Go(func() {
			for seed := uint64(worker); seed < madeFiles && !t.Failed(); seed += 8 {
				m := generator{rand.New(rand.NewPCG(seed, 0))}
				file := m.file()
				parsed, _, err := taskfile.Parse(file)
				if err != nil {
					continue
				}
				mu.Lock()
				accepted++
				mu.Unlock()
				record := recordOf(parsed, m)
				service := objects.Service(record, c.namespace, "uid")
				if _, err := c.CoreV1().Services(c.namespace).Create(t.Context(), service, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
					t.Errorf("file %d is accepted, and its Service is not: %v\n%s", seed, err, file)
				}
				for _, job := range objects.Jobs(record, c.namespace)[:1] {
					_, err := jobs.Create(t.Context(), job, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
					if err != nil {
						t.Errorf("file %d is accepted, and its Job is not: %v\n%s", seed, err, file)
					}
				}
			}
		})
	}
	workers.Wait()
	t.Logf("of %d files %d were accepted", madeFiles, accepted)
	if accepted < madeFiles/20 {
		t.Errorf("of %d files only %d were accepted: the others prove nothing", madeFiles, accepted)
	}
}

// The API server also admits task files with the shapes of SkyPilot's own files.
func TestTaskShapesAreAdmitted(t *testing.T) {
	t.Parallel()
	c := join(t)
	files, err := filepath.Glob("../../pkg/taskfile/testdata/shapes/*.yaml")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	accepted := 0
	for _, file := range files {
		text := must.Read(t, file)
		parsed, _, err := taskfile.Parse(text)
		if err != nil {
			continue
		}
		accepted++
		for _, job := range objects.Jobs(recordOf(parsed, generator{rand.New(rand.NewPCG(0, 0))}), c.namespace) {
			if _, err := c.BatchV1().Jobs(c.namespace).Create(t.Context(), job, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
				t.Errorf("%s is accepted, and its Job is not: %v", file, err)
			}
		}
	}
	t.Logf("of %d files %d are accepted", len(files), accepted)
}

// recordOf returns the record of a task whose user has an unusual name.
func recordOf(parsed task.Spec, m generator) *task.Record {
	s := task.Submit{ID: task.NewID(), User: texts[m.IntN(len(texts))], Task: parsed, Image: parsed.Resources.Image()}
	if s.Image == "" {
		s.Image = "python:3.13-slim"
	}
	if len(parsed.Buckets) > 0 {
		s.Transfer.Image = "k8s-cli.local/bucket"
	}
	claims := map[string]string{}
	for _, name := range parsed.Volumes {
		claims[name] = name
	}
	return &task.Record{Submit: s, Hash: s.Hash(), CreatedAt: time.Now(), Claims: claims}
}
