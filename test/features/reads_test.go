package features

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/task"
)

// Reads of tasks and lists cause no requests to the API server, as its audit log shows.
func TestReadsSendNoRequestsToTheCluster(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	id := ann.submit(t, "num_nodes: 2\n"+yaml("run", endless))
	ann.awaitWhere(t, id, "with two running nodes", func(s task.Status) bool { return s.Metadata.Running == 2 })
	eventually(t, "both nodes have the addresses", func() (string, bool) { // the pods run before the server writes to them
		pods := ann.pods(t, id)
		return fmt.Sprintf("%d pods", len(pods)), !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.Annotations[task.AnnotationAddresses] == "" })
	})
	volume := ann.create(t, task.Volume{Name: "data", Size: "1Gi"})
	ann.awaitBound(t, volume)
	created := 0
	for _, e := range ann.audited(t, 0) {
		if e.Verb == "create" {
			created++
		}
	}
	if created != 5 {
		t.Fatalf("the audit log shows %d objects that the server created, want the key of secrets, 2 Jobs, their Service and a claim", created)
	}
	from := auditEnd(t)
	for range 250 {
		ann.task(t, id)
		ann.tasks(t)
		ann.volume(t, volume)
		if _, err := ann.Volumes(t.Context(), true); err != nil {
			t.Fatal(err)
		}
	}
	// The marker is a request of the test that follows all requests of the servers.
	const marker = "the-end-of-the-reads"
	ann.claim(t, marker)
	eventually(t, "the audit log is written so far", func() (string, bool) {
		events := ann.auditLog(t, from)
		return fmt.Sprintf("%d requests", len(events)), slices.ContainsFunc(events, func(e event) bool { return e.Object.Name == marker })
	})
	for _, e := range ann.audited(t, from) {
		if e.Verb != "watch" { // watches end periodically and are renewed
			t.Errorf("during the reads the server asked: %s %s", e.Verb, e.URI)
		}
	}
}
