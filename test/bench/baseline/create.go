package baseline

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/submit/objects"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
)

// A Create creates the Jobs of tasks with client-go, one request for each Job. The reply
// contains how long their creation took.
type Create struct {
	Kubeconfig string    `json:"kubeconfig"`
	Namespace  string    `json:"namespace"`
	User       string    `json:"user"`
	Image      string    `json:"image"`
	Task       task.Spec `json:"task"` // a task of one node
	Count      int       `json:"count"`
	Writers    int       `json:"writers"` // concurrent requests
}

func (c *Create) run(ctx context.Context) (Reply, error) {
	client, err := testkit.Connect(c.Kubeconfig, Agent)
	if err != nil {
		return Reply{}, err
	}
	jobs := client.BatchV1().Jobs(c.Namespace)
	if _, err := jobs.List(ctx, metav1.ListOptions{Limit: 1}); err != nil { // establishes the connection
		return Reply{}, fmt.Errorf("list jobs: %w", err)
	}
	began := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.Writers)
	for i := range c.Count {
		g.Go(func() error {
			_, err := jobs.Create(ctx, objects.Jobs(c.record(i, began), c.Namespace)[0], metav1.CreateOptions{})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return Reply{}, fmt.Errorf("create a job: %w", err)
	}
	return Reply{Took: time.Since(began)}, nil
}

// record returns the record that the log would have of task i.
func (c *Create) record(i int, at time.Time) *task.Record {
	submit := task.Submit{ID: task.NewID(), User: c.User, Task: c.Task, Image: c.Image}
	place := uint64(i) + 1
	return &task.Record{Submit: submit, Hash: submit.Hash(), Seq: place, Order: place, CreatedAt: at.UTC(), UpdatedAt: at.UTC(), Phase: task.Pending}
}

// Agent is the user agent of the bench and its baselines.
const Agent = "k8s-cli-bench"
