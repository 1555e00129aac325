package submit

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// phaseOf waits until the volume's claim has the phase want in the store; "" means no claim.
func (w *testCluster) phaseOf(want string) {
	w.t.Helper()
	w.awaitStore("claim of phase "+want, func() (phase string, ok bool) {
		if claim := w.store.VolumeView("v").Claim; claim != nil {
			phase = claim.Phase
		}
		return phase, phase == want
	})
}

func (w *testCluster) setPhase(p corev1.PersistentVolumeClaimPhase) {
	w.t.Helper()
	claim := w.claim()
	claim.Status.Phase = p
	if _, err := w.cluster.CoreV1().PersistentVolumeClaims(namespace).Update(w.t.Context(), claim, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.phaseOf(string(p))
}

func (w *testCluster) removeClaimOf(name string) {
	w.t.Helper()
	must.Succeed(w.t, w.cluster.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), namespace, name))
}

func TestPhasesOfClaimsAreRecorded(t *testing.T) {
	w := newTestCluster(t)
	w.watch()
	w.create()
	w.mustVolume("applied")
	w.phaseOf("Pending")
	w.mustVolume()
	w.setPhase(corev1.ClaimBound)
	w.mustVolume("claimed")
	w.mustVolume()
	if got := w.store.VolumeView("v").Phase; got != task.VolumeBound {
		t.Errorf("noted as %s", got)
	}
	w.setPhase(corev1.ClaimPending) // as a pod shows it that lags behind
	w.mustVolume()
	w.setPhase(corev1.ClaimLost)
	w.mustVolume("claimed")
	w.setPhase(corev1.ClaimBound)
	w.mustVolume("claimed")
	w.removeClaimOf("data-v")
	w.phaseOf("")
	w.mustVolume("claimed")
	w.mustVolume()
	if got := w.store.VolumeView("v").CurrentPhase(); got != task.VolumeLost {
		t.Errorf("without its claim the volume is %s", got)
	}
}

// A claim that was deleted while no server ran is lost, like one whose deletion was watched.
// Only the answer of the API server proves the deletion.
func TestAClaimThatWentUnseenIsLost(t *testing.T) {
	w := newTestCluster(t)
	w.create()
	w.mustVolume("applied")
	w.mustVolume() // the claim exists, but the informers do not show it
	w.removeClaimOf("data-v")
	w.failing("get", "persistentvolumeclaims", 1, errors.New("busy"))
	if facts, err := w.volumeStep(); err == nil || len(facts) > 0 {
		t.Errorf("the cluster did not answer: %q, %v", facts, err)
	}
	w.mustVolume("claimed")
	w.mustVolume()
	if got := w.store.VolumeView("v").CurrentPhase(); got != task.VolumeLost {
		t.Errorf("the volume is %s", got)
	}
}
