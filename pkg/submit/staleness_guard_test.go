package submit

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s-cli/pkg/submit/objects"
	"k8s-cli/test/testkit/must"
)

// What was read before a pause may be out of date: another pod may have created, ended and
// deleted the objects in the meantime.
func TestNothingIsCreatedAfterAPause(t *testing.T) {
	w := newTestCluster(t)
	record, volume := w.submit("a", 1), w.create()
	before := readPoint(time.Now().Add(-readPointLifetime - time.Millisecond))
	if err := w.apply(t.Context(), taskKey("a"), w.store.TaskView("a"), before); !errors.Is(err, errStaleRead) {
		t.Errorf("a Job: error %v", err)
	}
	if err := w.reconcileVolume(t.Context(), volumeKey("v"), w.store.VolumeView("v"), before); !errors.Is(err, errStaleRead) {
		t.Errorf("a claim: error %v", err)
	}
	if facts, calls := w.log.Facts(), w.calls(); len(facts)+len(calls) != 0 {
		t.Errorf("facts %q, calls %q", facts, calls)
	}

	now := readPoint(time.Now().Add(time.Hour))
	if _, err := w.createJob(t.Context(), objects.Jobs(record, namespace)[0], now); err != nil {
		t.Error(err)
	}
	if _, err := w.createClaim(t.Context(), objects.Claim(volume, namespace), now); err != nil {
		t.Error(err)
	}
}

// sent holds the queries of the requests that are written to the connection.
type sent []string

// RoundTrip sends a request as HTTP/2 does, which checks the context first.
func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Held-Up") != "" {
		time.Sleep(readPointLifetime + time.Millisecond) // by the clock of the test: the process is paused
	}
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	default:
	}
	*s = append(*s, r.URL.RawQuery)
	return &http.Response{StatusCode: http.StatusOK}, nil
}

// A process that was paused after its decision sends nothing.
func TestNothingStaleReachesTheWire(t *testing.T) { synctest.Test(t, assertSendsNothingStale) }

func assertSendsNothingStale(t *testing.T) {
	var wire sent
	transport := StalenessGuard(&wire)
	heldUp := false
	ask := func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://house/apis?force=true", nil)
		must.Succeed(t, err)
		if heldUp {
			r.Header.Set("Held-Up", "yes")
		}
		response, err := transport.RoundTrip(r)
		if err == nil && response.Body != nil {
			_ = response.Body.Close()
		}
		return err
	}
	if err := ask(t.Context()); err != nil || !slices.Equal(wire, sent{"force=true"}) {
		t.Errorf("a read: %v, %q sent", err, wire)
	}
	if err := ask(readPoint(time.Now()).bind(t.Context())); err != nil || len(wire) != 2 || wire[1] != "force=true&timeout=10s" {
		t.Errorf("a creation at once: %v, %q sent", err, wire)
	}
	heldUp = true
	if err := ask(readPoint(time.Now()).bind(t.Context())); !errors.Is(err, errStaleRead) || len(wire) != 2 {
		t.Errorf("a creation held up on its way: %v, %q sent", err, wire)
	}
	heldUp = false
	if err := ask(readPoint(time.Now().Add(-readPointLifetime - time.Millisecond)).bind(t.Context())); !errors.Is(err, errStaleRead) || len(wire) != 2 {
		t.Errorf("a creation after a pause: %v, %q sent", err, wire)
	}
}

func TestNoIdleJobIsDeletedAfterAPause(t *testing.T) {
	w := newTestCluster(t)
	job := jobsOf(w.submit("a", 2))[0]
	w.place(job)
	before := readPoint(time.Now().Add(-readPointLifetime - time.Millisecond))
	if err := w.deleteIdleJob(t.Context(), job, before); !errors.Is(err, errStaleRead) || len(w.calls()) != 0 {
		t.Errorf("error %v", err)
	}
	if err := w.deleteIdleJob(t.Context(), job, readPoint(time.Now().Add(time.Hour))); err != nil || len(w.jobsByName()) != 0 {
		t.Errorf("error %v, %d Jobs", err, len(w.jobsByName()))
	}
}
