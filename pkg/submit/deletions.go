package submit

import (
	"sync"
	"time"

	"k8s-cli/pkg/task"
)

// firstRetry is how long after an accepted deletion the controller repeats the request, if the
// informers show no progress. The time doubles with each repetition, up to maxRetry. A change
// that the watch delivers is handled earlier.
const (
	firstRetry = informerGrace
	maxRetry   = 32 * time.Second
)

// pendingDeletions holds the deletions of Jobs that the API server has accepted. Without it,
// the controller would repeat the request at every change until the Job is deleted: the pods
// of a Job are deleted one by one.
type pendingDeletions struct {
	mu         sync.Mutex
	firstRetry time.Duration               // as the constant firstRetry; tests shorten it
	all        map[string]*pendingDeletion // by the name of the Job
}

type pendingDeletion struct {
	uid        string
	acceptedAt time.Time
	retryAfter time.Duration // from acceptedAt until the request is repeated
	observed   bool          // the informers have shown the Job, so its disappearance is meaningful
}

// state returns the state of the deletion of a Job; shown is the Job in the informers, nil if
// they show none. gone means that the Job was seen to disappear. pending means that the
// deletion is in progress and needs no request.
func (d *pendingDeletions) state(name string, shown *task.Job) (gone, pending bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	x := d.all[name]
	if x == nil {
		return false, false
	}
	there := shown != nil && shown.UID == x.uid
	x.observed = x.observed || there
	if x.observed && !there {
		delete(d.all, name)
		return true, false
	}
	return false, time.Since(x.acceptedAt) < x.retryAfter
}

// accepted records that a deletion was accepted, or that the Job needs no request for now.
func (d *pendingDeletions) accepted(name, uid string, shown *task.Job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[string]*pendingDeletion{}
	}
	wait := d.firstRetry
	if before := d.all[name]; before != nil && before.uid == uid {
		wait = min(2*before.retryAfter, maxRetry)
	}
	d.all[name] = &pendingDeletion{uid: uid, acceptedAt: time.Now(), retryAfter: wait, observed: shown != nil && shown.UID == uid}
}

// drop removes the deletion of a Job that no longer exists.
func (d *pendingDeletions) drop(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.all, name)
}
