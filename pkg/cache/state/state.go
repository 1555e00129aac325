// Package state folds the log. The same entries in the same order give the same tasks, volumes
// and results on every pod. The fold is deterministic and total: it reads no clock, no random
// number and no order of a map, and no entry makes it fail.
package state

import (
	"encoding/json"
	"slices"
	"time"

	"k8s-cli/pkg/task"
)

// maxWriters bounds the writers that are remembered; each start of a server is a new writer.
// The writer whose last entry is oldest is removed first.
const maxWriters = 1024

// A State is the result of folding the log. The values in a State are immutable; the State
// itself belongs to one goroutine at a time.
type State struct {
	Log     string    // id of the log, from its first entry
	Seq     uint64    // sequence of the last folded entry
	Time    time.Time // log time, see logTime
	Tasks   map[string]*CompactRecord
	Volumes map[string]*task.VolumeRecord
	Uploads map[task.UploadKey]task.UploadRecord

	// Yield, if not nil, is called between the changes of an entry, and may let other goroutines
	// read the State: an entry may change all tasks of a user.
	Yield func()

	keys     map[idempotency]firstUse
	retired  []retiredKey // keys whose objects have expired, in order of retirement
	answered []answered   // keys of stops and deletions, in order of the log
	ledger   ledger
	over     map[endedKey]endedSessions // sessions of browsers that ended before they expired
	writers  map[string]*writer
	order    uint64 // number of submissions and creations so far

	derived

	last        task.EventID // id of the last event
	events      []task.Event // events of the entry that is being folded
	alsoChanged []task.Key   // keys of further tasks that the present command changed

	decided    []decision // about the submissions that follow and are accepted together, see decideTogether
	vacated    []groupKey // groups that lost an active or held task by the present command
	failedFast []string   // ids of the tasks with fail_fast that failed by the present command

	leftJobGroup []string // ids of the tasks of job groups that the present command ended

	endings []string // ids of the tasks that the present command ended and whose successors wait, see advance
}

// derived holds what follows from the other fields of a State. A snapshot does not contain it.
type derived struct {
	volumeNames   map[volumeName]int           // number of volumes of a name that are not deleted
	active        map[string]map[string]bool   // ids of the tasks that are not over, by user
	activeInGroup map[groupKey]map[string]bool // ids of the tasks that are not over and have a group, by group
	uploadUses    map[task.UploadKey]int       // number of tasks that are not over and name an upload
	successors    map[string]map[string]bool   // ids of the tasks that wait for a task, by the id of that task
	groups        map[groupKey]*groupState     // groups with tasks that are active or held
	jobGroups     map[string]map[int]string    // ids of the tasks of each job group, by the id of the job group and the index of the task
	jobs          jobCount
	outputBytes   map[string]int64 // size of the stored outputs of all tasks, by user
	historySize   int              // number of tasks in the history, see CompactRecord.InHistory
}

// A writer is remembered by its last entry, which the writer may send again.
type writer struct {
	number  uint64
	seq     uint64 // sequence of the entry in the log
	results []task.Result
}

// A volumeName is the name that a user gave to a volume; several volumes may share the name.
type volumeName struct{ user, name string }

// New returns the state of an empty log.
func New() *State {
	return &State{
		Tasks:   map[string]*CompactRecord{},
		Volumes: map[string]*task.VolumeRecord{},
		Uploads: map[task.UploadKey]task.UploadRecord{},
		keys:    map[idempotency]firstUse{},
		ledger:  ledger{},
		over:    map[endedKey]endedSessions{},
		writers: map[string]*writer{},
		derived: derived{
			volumeNames:   map[volumeName]int{},
			active:        map[string]map[string]bool{},
			activeInGroup: map[groupKey]map[string]bool{},
			uploadUses:    map[task.UploadKey]int{},
			successors:    map[string]map[string]bool{},
			groups:        map[groupKey]*groupState{},
			jobGroups:     map[string]map[int]string{},
			jobs:          jobCount{ofUser: map[string]int{}},
			outputBytes:   map[string]int64{},
		},
	}
}

// LastEvent returns the id of the last event.
func (s *State) LastEvent() task.EventID { return s.last }

// A FoldResult is the effect of one entry.
type FoldResult struct {
	Results        []task.Result        // one for each command
	Changed        []task.Key           // keys of the objects that the entry changed
	Events         []task.Event         // events of the entry, in order
	Snapshot       *Snapshot            // the state after the entry, if the entry has a snapshot marker; nil otherwise
	SnapshotStored *task.SnapshotStored // not nil if the entry says that a snapshot is stored
	Unknown        error                // not nil if a newer release wrote the entry; the State is unusable afterwards
}

// Fold applies one entry. An entry that was written for another log, that was folded before,
// or whose writer is unknown has no effect.
func (s *State) Fold(e task.Entry) FoldResult {
	s.Seq = e.Seq
	if s.Log == "" {
		s.Log = e.Log
	}
	switch {
	case e.Version != task.EntryVersion:
		return FoldResult{Unknown: task.ErrUnknownCommand}
	case e.Log != s.Log:
		return rejectUnknownWriter(e)
	case e.Writer == "":
		return FoldResult{}
	}
	w := s.writers[e.Writer]
	switch {
	case w == nil && e.Number == 1:
		w = s.addWriter(e.Writer)
	case w == nil:
		return rejectUnknownWriter(e)
	case e.Number == w.number:
		return FoldResult{Results: w.results}
	case e.Number != w.number+1:
		return rejectUnknownWriter(e)
	}
	if e.IsExpired() {
		w.number, w.seq, w.results = e.Number, e.Seq, rejectAll(e, task.RejectedExpired)
		return FoldResult{Results: w.results}
	}
	s.Time = s.logTime(e)
	result, wantsSnapshot := s.apply(e.Commands, e.Traces)
	w.number, w.seq, w.results = e.Number, e.Seq, result.Results
	if wantsSnapshot {
		result.Snapshot = s.Snapshot()
	}
	return result
}

// logTime returns the time of an entry: the median of when NATS stored the entry, when its
// writer wrote it, and the log time before. One wrong clock therefore does not move log time,
// and after two wrong clocks log time is right again with the next entry. The order of the log
// does not depend on time.
func (s *State) logTime(e task.Entry) time.Time {
	if e.Written.IsZero() || s.Time.IsZero() {
		return e.Time.UTC()
	}
	times := []time.Time{e.Time, e.Written, s.Time}
	slices.SortFunc(times, time.Time.Compare)
	return times[1].UTC()
}

// later returns the later one of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Written returns the number of the last folded entry of a writer or 0, and the results of its
// commands.
func (s *State) Written(id string) (number uint64, results []task.Result) {
	w := s.writers[id]
	if w == nil {
		return 0, nil
	}
	return w.number, w.results
}

func (s *State) apply(commands []json.RawMessage, traces []task.Trace) (r FoldResult, wantsSnapshot bool) {
	r.Results, r.Changed = make([]task.Result, 0, len(commands)), make([]task.Key, 0, len(commands))
	for i := 0; i < len(commands); i++ {
		raw := commands[i]
		c, err := task.DecodeCommand(raw)
		if err != nil {
			r.Unknown = err
		}
		if rejected := s.decideTogether(c, commands[i:]); rejected != nil {
			r.Results = append(r.Results, rejected...)
			i += len(rejected) - 1
			continue
		}
		if c.SnapshotStored != nil {
			r.SnapshotStored = c.SnapshotStored
		}
		wantsSnapshot = wantsSnapshot || c.SnapshotMarker != nil
		if c.Submit != nil {
			c.Submit.Trace, traces = parentOf(i, traces)
		}
		s.yield()
		result, changed := s.command(c, raw)
		for len(s.failedFast)+len(s.leftJobGroup) > 0 {
			s.failGroups()
			s.endJobGroups()
		}
		s.releaseHeld()
		r.Results = append(r.Results, result)
		r.Changed = append(append(r.Changed, changed...), s.alsoChanged...)
		s.alsoChanged = nil
	}
	r.Events, s.events = s.events, nil
	return r, wantsSnapshot
}

func (s *State) yield() {
	if s.Yield != nil {
		s.Yield()
	}
}

// parentOf returns the parent span of a command of an entry, and the traces from this command
// on.
func parentOf(command int, traces []task.Trace) (string, []task.Trace) {
	for len(traces) > 0 && command-traces[0].First >= traces[0].Count {
		traces = traces[1:]
	}
	if len(traces) == 0 || command < traces[0].First {
		return "", traces
	}
	return traces[0].Parent, traces
}

func rejectUnknownWriter(e task.Entry) FoldResult {
	return FoldResult{Results: rejectAll(e, task.RejectedUnknownWriter)}
}

// rejectAll returns a rejection for every command of an entry.
func rejectAll(e task.Entry, why task.Rejection) []task.Result {
	results := make([]task.Result, len(e.Commands))
	for i := range results {
		results[i].Rejection = why
	}
	return results
}

// addWriter adds a new writer, and removes the oldest if there are too many.
func (s *State) addWriter(id string) *writer {
	if len(s.writers) >= maxWriters {
		oldest := ""
		for id, w := range s.writers {
			if oldest == "" || w.seq < s.writers[oldest].seq {
				oldest = id
			}
		}
		delete(s.writers, oldest)
	}
	s.writers[id] = &writer{}
	return s.writers[id]
}

// command applies one command and returns the changed objects; raw is the command as stored in
// the log.
func (s *State) command(c task.Command, raw []byte) (task.Result, []task.Key) {
	switch {
	case c.Submit != nil:
		return s.submit(*c.Submit, raw)
	case c.Stop != nil:
		return s.once(c.Stop.User, c.Stop.Key, c.Stop.Body(), func() (task.Result, []task.Key) { return s.stop(*c.Stop) })
	case c.StopAll != nil:
		return s.once(c.StopAll.User, c.StopAll.Key, c.StopAll.Body(), func() (task.Result, []task.Key) { return s.stopAll(*c.StopAll) })
	case c.Create != nil:
		return s.create(*c.Create)
	case c.Delete != nil:
		return s.once(c.Delete.User, c.Delete.Key, c.Delete.Body(), func() (task.Result, []task.Key) { return s.delete(*c.Delete) })
	case c.Upload != nil:
		return s.upload(*c.Upload)
	case c.EndSessions != nil:
		return s.endSessions(*c.EndSessions)
	case c.Admitted != nil:
		return s.admit(*c.Admitted)
	case c.Resolved != nil:
		return s.resolved(*c.Resolved)
	case c.Blocked != nil:
		return s.blocked(*c.Blocked)
	case c.Applied != nil:
		return s.applied(*c.Applied)
	case c.Started != nil:
		return s.started(*c.Started)
	case c.Restarted != nil:
		return s.restarted(*c.Restarted)
	case c.Ended != nil:
		return s.ended(*c.Ended)
	case c.Rejected != nil:
		return s.rejected(*c.Rejected)
	case c.CleanedUp != nil:
		return s.cleanedUp(c.CleanedUp.Key)
	case c.Adopted != nil:
		return s.adopted(*c.Adopted)
	case c.Claimed != nil:
		return s.claimed(*c.Claimed)
	case c.OutputsStored != nil:
		return s.outputsStored(*c.OutputsStored)
	case c.ExpireHistory != nil:
		return s.expireHistory(*c.ExpireHistory)
	case c.DeleteUploads != nil:
		return s.deleteUploads(*c.DeleteUploads)
	case c.SnapshotMarker != nil, c.SnapshotStored != nil: // these facts do not change the state
		return task.Result{}, nil
	}
	return reject("", task.RejectedUnknownWriter)
}

func reject(id string, r task.Rejection) (task.Result, []task.Key) {
	return task.Result{ID: id, Rejection: r}, nil
}

func accept(k task.Key) (task.Result, []task.Key) {
	return task.Result{ID: k.ID}, []task.Key{k}
}

func taskKey(id string) task.Key   { return task.Key{Kind: task.KindTask, ID: id} }
func volumeKey(id string) task.Key { return task.Key{Kind: task.KindVolume, ID: id} }
