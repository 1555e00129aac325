package submit

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
)

var sum = strings.Repeat("a", 64)

func stored(user, sum, object string) task.Command {
	return task.Command{Upload: &task.Upload{User: user, Sum: sum, Object: object, Size: 1}}
}

// withFiles returns a world with a task that has an upload.
func withFiles(t *testing.T) *testCluster {
	t.Helper()
	w := newTestCluster(t)
	w.config.Token = func(id string) string { return "token of " + id }
	w.append(stored("ann", sum, "ann/1"), task.Command{Submit: &task.Submit{ID: "a", User: "ann", Image: "python", Files: "http://server", Task: task.Spec{
		Name: "train", Run: "true", Uploads: map[string]string{"/data": sum},
	}}})
	return w
}

func TestATaskWithUploadsHasASecretWithItsToken(t *testing.T) {
	w := withFiles(t)
	w.must("a", "applied")
	secret, err := w.cluster.CoreV1().Secrets(namespace).Get(t.Context(), "train-a", metav1.GetOptions{})
	if err != nil || len(secret.Data) != 1 || string(secret.Data["files.token"]) != "token of a" {
		t.Errorf("%v, %+v", err, secret)
	}
	if r := w.record("a"); r.Submit.Task.Uploads["/data"] != sum {
		t.Errorf("the record keeps %+v", r.Submit)
	}
}

func TestAServerWithoutAKeyAppliesNoTaskWithUploads(t *testing.T) {
	w := withFiles(t)
	w.config.Token = nil
	if facts, err := w.step("a"); !errors.Is(err, errSecretsUnreadable) || !slices.Equal(facts, []string{"delayed"}) {
		t.Errorf("facts %q, %v", facts, err)
	}
}

// A fakeUploads stores uploads.
type fakeUploads map[string]time.Time

func (c fakeUploads) List(context.Context) (map[string]time.Time, error) { return c, nil }

func (c fakeUploads) Remove(_ context.Context, names ...string) error {
	for _, name := range names {
		delete(c, name)
	}
	return nil
}

func TestUploadsGoWhenNobodyNeedsThem(t *testing.T) {
	const retention = 2 * time.Hour
	w := withFiles(t) // a minute ago
	now := time.Now()
	w.append(stored("ann", strings.Repeat("b", 64), "ann/2"), stored("ann", sum, "ann/3"))
	store := fakeUploads{"ann/1": now, "ann/2": now, "ann/3": now, "ann/torn": now.Add(-365 * 24 * time.Hour), "ann/slow": now}
	unknown := map[string]waitTimer{}
	sweep := func(now time.Time, want ...string) {
		t.Helper()
		w.log.now = func() time.Time { return now }
		if err := sweepUploads(t.Context(), w.store, w.log, store, unknown, now, retention); err != nil {
			t.Fatal(err)
		}
		var left []string
		for name := range store {
			left = append(left, name)
		}
		if slices.Sort(left); !slices.Equal(left, want) {
			t.Errorf("left %q, want %q", left, want)
		}
	}
	sweep(now, "ann/1", "ann/2", "ann/3", "ann/slow", "ann/torn") // whatever the times of the store say
	store["ann/slow"] = now.Add(time.Hour)                        // another part
	sweep(now.Add(90*time.Minute), "ann/2", "ann/3", "ann/slow")  // what took the place of another, and what nobody heard of, is old enough
	if facts := w.log.facts(); len(facts) != 0 {
		t.Errorf("facts %q", facts)
	}
	sweep(now.Add(5*retention/4), "ann/3", "ann/slow") // a task needs it
	if facts := w.log.facts(); !slices.Equal(facts, []string{"discard"}) {
		t.Errorf("facts %q", facts)
	}
	w.append(task.Command{Stop: &task.Stop{User: "ann", ID: "a"}})
	sweep(now.Add(9*retention/4), "ann/3") // it was used until the end of its task
	sweep(now.Add(5 * retention))
	if facts := w.log.facts(); !slices.Equal(facts, []string{"discard"}) {
		t.Errorf("facts %q", facts)
	}
	w.log.unknown = true
	store["ann/late"] = now
	if err := sweepUploads(t.Context(), w.store, w.log, store, unknown, now.Add(24*time.Hour), retention); !errors.Is(err, errNoReadIndex) || len(store) != 1 {
		t.Errorf("while the log's end is unknown: %v, left %v", err, store)
	}
}
