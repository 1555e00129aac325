package submit

import (
	"sync"
	"time"

	"k8s-cli/pkg/task"
)

// askAgain is how long after a deletion that the API server accepted it is asked
// for again, if nothing is seen of it; each time it is twice as long, up to askSeldom.
// What the watch brings comes earlier.
const (
	askAgain  = settleTime
	askSeldom = 32 * time.Second
)

// Endings are the deletions of Jobs that the API server has accepted, so that
// none is asked for at every change that is seen until the Job is gone: its pods
// go one by one.
type endings struct {
	mu    sync.Mutex
	again time.Duration      // see askAgain
	all   map[string]*ending // by the Job's name
}

type ending struct {
	uid  string
	at   time.Time
	wait time.Duration // from then until it is asked for again
	seen bool          // the informers showed the Job, so that they see it go
}

// look returns what is known of the deletion of a Job that the informers show as
// shown, nil if they show none: it is gone, since it was seen to go; or it is
// under way, and there is nothing to ask.
func (e *endings) look(name string, shown *task.Job) (gone, underWay bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.all[name]
	if x == nil {
		return false, false
	}
	there := shown != nil && shown.UID == x.uid
	x.seen = x.seen || there
	if x.seen && !there {
		delete(e.all, name)
		return true, false
	}
	return false, time.Since(x.at) < x.wait
}

// note notes that a deletion was accepted, or that nothing is to be done for now.
func (e *endings) note(name, uid string, shown *task.Job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil {
		e.all = map[string]*ending{}
	}
	wait := e.again
	if before := e.all[name]; before != nil && before.uid == uid {
		wait = min(2*before.wait, askSeldom)
	}
	e.all[name] = &ending{uid: uid, at: time.Now(), wait: wait, seen: shown != nil && shown.UID == uid}
}

// clear forgets all: another controller has led since.
func (e *endings) clear() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.all)
}

// forget forgets a Job of which nothing is left.
func (e *endings) forget(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.all, name)
}
