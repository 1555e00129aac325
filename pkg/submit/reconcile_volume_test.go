package submit

import (
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/submit/objects"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

func volumeKey(id string) task.Key { return task.Key{Kind: task.KindVolume, ID: id} }

func (w *testCluster) create() *task.VolumeRecord {
	w.t.Helper()
	w.append(task.Command{Create: &task.Create{ID: "v", User: "ann", Volume: task.Volume{Name: "data", Size: "1Gi"}}})
	return w.store.VolumeView("v").VolumeRecord
}

func (w *testCluster) delete() {
	w.t.Helper()
	w.append(task.Command{Delete: &task.Delete{ID: "v", User: "ann"}})
}

// volumeStep reconciles the volume once.
func (w *testCluster) volumeStep() ([]string, error) {
	err := w.reconcileKey(volumeKey("v"))
	return w.log.Facts(), err
}

func (w *testCluster) mustVolume(want ...string) {
	w.t.Helper()
	if got, err := w.volumeStep(); err != nil || !slices.Equal(got, want) {
		w.t.Fatalf("facts %q, error %v, want %q", got, err, want)
	}
}

func (w *testCluster) claim() *corev1.PersistentVolumeClaim {
	w.t.Helper()
	claim, err := w.cluster.CoreV1().PersistentVolumeClaims(namespace).Get(w.t.Context(), "data-v", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	must.Succeed(w.t, err)
	return claim
}

func (w *testCluster) placeClaim(c *corev1.PersistentVolumeClaim) {
	w.t.Helper()
	c.UID = "placed"
	must.Succeed(w.t, w.cluster.Tracker().Add(c))
}

func TestAVolumeBecomesAClaim(t *testing.T) {
	w := newTestCluster(t)
	w.create()
	w.mustVolume("applied")
	if got := w.store.VolumeView("v").UID; got == "" || got != string(w.claim().UID) {
		t.Errorf("UID %q", got)
	}
	w.calls()
	w.mustVolume() // the informers do not show the claim yet
	w.mustCall("get data-v")
}

func TestAClaimThatExistsAlready(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(*corev1.PersistentVolumeClaim)
		facts  []string
		err    error
	}{
		{"ours", func(*corev1.PersistentVolumeClaim) {}, []string{"applied"}, nil},
		{"ours, being deleted", func(c *corev1.PersistentVolumeClaim) {
			c.DeletionTimestamp, c.Finalizers = new(metav1.Now()), []string{"wait"}
		}, []string{"blocked"}, errDeleting},
		{"of somebody else", func(c *corev1.PersistentVolumeClaim) { c.Annotations = nil }, []string{"rejected"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestCluster(t)
			claim := objects.Claim(w.create(), namespace)
			tt.before(claim)
			w.placeClaim(claim)
			if facts, err := w.volumeStep(); !slices.Equal(facts, tt.facts) || !errors.Is(err, tt.err) {
				t.Errorf("facts %q, error %v", facts, err)
			}
		})
	}
}

func TestRejectedVolumeStaysRejected(t *testing.T) {
	w := newTestCluster(t)
	w.create()
	w.failing("create", "persistentvolumeclaims", -1, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim").GroupKind(), "data-v", nil))
	w.mustVolume("rejected")
	w.calls()
	w.mustVolume()
	w.mustCall()
	w.delete()
	w.mustVolume("cleaned_up")
}

func TestBlockedVolumeIsTriedAgain(t *testing.T) {
	w := newTestCluster(t)
	w.create()
	w.failing("create", "persistentvolumeclaims", 2, apierrors.NewForbidden(claims, "data-v", errors.New("exceeded quota: storage")))
	for _, want := range [][]string{{"blocked"}, nil} {
		if facts, err := w.volumeStep(); err == nil || !slices.Equal(facts, want) {
			t.Errorf("facts %q, error %v", facts, err)
		}
	}
	w.mustVolume("applied")
}

func TestADeletedVolumeLosesItsClaim(t *testing.T) {
	w := newTestCluster(t)
	w.create()
	w.mustVolume("applied")
	w.delete()
	if facts, err := w.volumeStep(); !errors.Is(err, errDeletionPending) || len(facts) != 0 || w.claim() != nil {
		t.Errorf("facts %q, error %v", facts, err)
	}
	w.mustVolume("cleaned_up")
	w.calls()
	w.mustVolume()
	w.mustCall()
}

// A controller that was paused between its read barrier and the creation creates the claim
// after the volume was deleted and cleaned up.
func TestAClaimThatComesLateIsDeleted(t *testing.T) {
	w := newTestCluster(t)
	record := w.create()
	w.mustVolume("applied")
	w.delete()
	_, _ = w.volumeStep()
	w.mustVolume("cleaned_up")
	w.watch()
	w.placeClaim(objects.Claim(record, namespace))
	w.awaitStore("claim", func() (string, bool) { return "", w.store.VolumeView("v").Claim != nil })
	if facts, err := w.volumeStep(); !errors.Is(err, errDeletionPending) || len(facts) != 0 || w.claim() != nil {
		t.Errorf("facts %q, error %v, claim %v", facts, err, w.claim())
	}
}

// The controller crashed between creating the claim and appending the fact.
func TestUnrecordedClaimsAreDeletedToo(t *testing.T) {
	w := newTestCluster(t)
	w.placeClaim(objects.Claim(w.create(), namespace))
	w.delete()
	if _, err := w.volumeStep(); !errors.Is(err, errDeletionPending) || w.claim() != nil {
		t.Errorf("error %v, claim %v", err, w.claim())
	}
	w.mustVolume("cleaned_up")
}

func TestAClaimOfOthersIsNotDeleted(t *testing.T) {
	for _, tt := range []struct {
		name    string
		applied bool
		alter   func(*corev1.PersistentVolumeClaim)
	}{
		{"of another volume", false, func(c *corev1.PersistentVolumeClaim) { c.Annotations[task.AnnotationSubmission] = "other" }},
		{"one that took its place", true, func(*corev1.PersistentVolumeClaim) {}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestCluster(t)
			claim := objects.Claim(w.create(), namespace)
			if tt.applied {
				w.mustVolume("applied")
				w.removeClaimOf("data-v")
			}
			tt.alter(claim)
			w.placeClaim(claim)
			w.delete()
			w.mustVolume("cleaned_up")
			if w.claim() == nil {
				t.Error("it was deleted")
			}
		})
	}
}

// A claim exists for as long as a pod uses it.
func TestAClaimThatIsBeingDeletedIsWaitedFor(t *testing.T) {
	w := newTestCluster(t)
	w.watch()
	w.create()
	w.mustVolume("applied")
	w.delete()
	claim := w.claim()
	claim.DeletionTimestamp, claim.Finalizers = new(metav1.Now()), []string{"kubernetes.io/pvc-protection"}
	if _, err := w.cluster.CoreV1().PersistentVolumeClaims(namespace).Update(t.Context(), claim, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.awaitStore("deletion of the claim", func() (string, bool) {
		v := w.store.VolumeView("v")
		return "", v.Claim != nil && v.Claim.Deleting
	})
	w.calls()
	w.mustVolume()
	w.mustCall()
}
