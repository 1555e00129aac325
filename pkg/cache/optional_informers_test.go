package cache

import (
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"k8s-cli/pkg/cache/listwatch"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
	"k8s-cli/test/testkit/safe"
)

func TestNodesAreKnownOnceTheyMayBeSeen(t *testing.T) {
	k8s := fake.NewClientset(newNode("house-1", "2", "4Gi", "0"))
	refused := make(chan bool)
	var forbidden atomic.Bool
	forbidden.Store(true)
	k8s.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		if forbidden.Load() {
			select {
			case refused <- true:
			default:
			}
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", errors.New("no right"))
		}
		return false, nil, nil
	})
	p, said, known := newTestStore(t), &safe.Text{}, make(chan bool)
	must.Run(t, p.watchNodesAndEvents(k8s, namespace, listwatch.NewOptional(slog.New(slog.NewTextHandler(said, nil)), 1), func() {
		p.nodes.MarkSynced()
		close(known)
	}).Run)
	for range 5 {
		<-refused
	}
	if _, known := p.Nodes().CanHold(task.Resources{}); known {
		t.Error("nodes that may not be seen are known")
	}
	if _, err := p.ClusterLag(); err != nil {
		t.Errorf("a right that is missing counts as an API server that is away: %v", err)
	}
	forbidden.Store(false)
	<-known
	if can, known := p.Nodes().CanHold(task.Resources{CPUs: "2"}); !known || !can {
		t.Errorf("once they may be seen: can %t, known %t", can, known)
	}
	if n := strings.Count(said.String(), "resource=nodes"); n != 1 {
		t.Errorf("%d warnings, want one", n)
	}
}

func TestEventsExplainTasks(t *testing.T) {
	c := submit("ann", "a")
	j := job(c, 0, task.Pending)
	k8s := fake.NewClientset(&corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: "refusal", Namespace: namespace},
		InvolvedObject: corev1.ObjectReference{Kind: "Job", Name: j.Name, UID: types.UID(j.UID)},
		Reason:         "FailedCreate", Message: "Error creating: exceeded quota",
	})
	p, watched := newTestStore(t, c, applied(taskKey("a"), j.UID)), awaitWatches(t, k8s, "events")
	p.putJob(j)
	must.Run(t, p.WatchNodesAndEvents(k8s, namespace, nil).Run)
	explained := func(v task.View) bool { return v.Explain(v.NodeList()).Reason == "QuotaExceeded" }
	p.await("a", "reason", explained)
	watched(3) // Jobs, pods and claims
	must.Succeed(t, k8s.CoreV1().Events(namespace).Delete(t.Context(), "refusal", metav1.DeleteOptions{}))
	p.await("a", "end of the reason", func(v task.View) bool { return !explained(v) })
}
