package submit

import (
	"errors"
	"testing"
	"time"

	"k8s-cli/pkg/submit/objects"
)

// What was seen before a pause may not be so any more: another pod may have
// created, ended and removed it all.
func TestNothingIsCreatedAfterAPause(t *testing.T) {
	w := newWorld(t)
	record, volume := w.submit("a", 1), w.create()
	before := look(time.Now().Add(-lookLasts - time.Millisecond))
	if err := w.apply(t.Context(), taskKey("a"), w.picture.TaskView("a"), before); !errors.Is(err, errOldLook) {
		t.Errorf("a Job: error %v", err)
	}
	if err := w.reconcileVolume(t.Context(), volumeKey("v"), w.picture.VolumeView("v"), before); !errors.Is(err, errOldLook) {
		t.Errorf("a claim: error %v", err)
	}
	if facts, calls := w.log.facts(), w.calls(); len(facts)+len(calls) != 0 {
		t.Errorf("facts %q, calls %q", facts, calls)
	}

	now := look(time.Now().Add(time.Hour))
	if _, err := w.createJob(t.Context(), objects.Jobs(record, namespace)[0], now); err != nil {
		t.Error(err)
	}
	if _, err := w.createClaim(t.Context(), objects.Claim(volume, namespace), now); err != nil {
		t.Error(err)
	}
}
