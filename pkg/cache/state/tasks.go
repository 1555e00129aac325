package state

import (
	"maps"
	"slices"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/attempt"
	"k8s-cli/pkg/task/bucket"
)

func (s *State) submit(c task.Submit, raw []byte) (task.Result, []task.Key) {
	d := s.decision(c)
	if d.repeated || d.result.Rejection != "" {
		return d.result, nil
	}
	hash, ok := task.SubmissionHash(raw)
	if !ok {
		hash = c.Hash()
	}
	s.store(c, d.body, hash)
	return accept(taskKey(c.ID))
}

// A decision is what the fold does with a submission.
type decision struct {
	result   task.Result
	repeated bool   // the result is that of an earlier submission with the same key
	body     string // identifies the body of the request, see bodyOf
}

// decision returns the decision about a submission: the one that decideTogether made for the
// submission and others together, or one for the submission alone.
func (s *State) decision(c task.Submit) (d decision) {
	if len(s.decided) > 0 {
		if d, s.decided = s.decided[0], s.decided[1:]; len(s.decided) == 0 {
			s.decided = nil // the state holds the decisions no longer than the entry
		}
		return d
	}
	return s.decide(c, nil)
}

// decide decides about a submission, and changes nothing. together holds the ids of the
// submissions that are accepted together with this one and before it, by id and key.
func (s *State) decide(c task.Submit, together map[string]string) decision {
	body := bodyOf(c.Key, c)
	result, repeated := s.check(c, body, together)
	return decision{result, repeated, body}
}

// check returns the result of a submission, and whether it is that of an earlier submission.
func (s *State) check(c task.Submit, body string, together map[string]string) (result task.Result, repeated bool) {
	if s.Tasks[c.ID] != nil || together[c.ID] != "" {
		return task.Result{ID: c.ID, Rejection: task.RejectedIDExists}, false
	}
	if c.Task.Nodes() > task.MaxNodes { // no server writes such a submission, but the fold must not fail
		return task.Result{ID: c.ID, Rejection: task.RejectedUnknownWriter}, false
	}
	if result, repeated := s.repeated(idempotency{task.KindTask, c.User, c.Key}, body); repeated {
		return result, true
	}
	if s.isMisplaced(c, together) {
		return task.Result{ID: c.ID, Rejection: task.RejectedUnknownWriter}, false
	}
	if c.Key != "" && together[c.Key] != "" {
		return task.Result{ID: together[c.Key], Rejection: task.RejectedKeyReuse}, false
	}
	if sums := s.missing(c); len(sums) > 0 { // the submission may be repeated with the same key
		return task.Result{ID: c.ID, Rejection: task.RejectedMissingUploads, Sums: sums}, false
	}
	if field, ref := s.unknownPredecessor(c, together); ref != "" {
		return task.Result{ID: c.ID, Rejection: task.RejectedPredecessor, Field: field, Missing: ref}, false
	}
	return task.Result{ID: c.ID}, false
}

// unknownPredecessor returns the first id or key in After or AfterAny that names no task, and the
// field. ref is empty if all name tasks.
func (s *State) unknownPredecessor(c task.Submit, together map[string]string) (field, ref string) {
	unknown := func(ref string) bool { return together[ref] == "" && s.find(c.User, ref) == nil }
	if i := slices.IndexFunc(c.After, unknown); i >= 0 {
		return "after", c.After[i]
	}
	if i := slices.IndexFunc(c.AfterAny, unknown); i >= 0 {
		return "after_any", c.AfterAny[i]
	}
	return "", ""
}

// store records a submission that check has accepted.
func (s *State) store(c task.Submit, body, hash string) {
	c.Together = 0
	s.useKey(idempotency{task.KindTask, c.User, c.Key}, c.ID, body)
	s.use(c)
	s.follow(s.joinJobGroup(s.accept(c, hash)))
}

// accept makes the record of a task and returns the record.
func (s *State) accept(c task.Submit, hash string) *task.Record {
	s.order++
	r := &task.Record{
		Submit:    c,
		Hash:      hash,
		Seq:       s.Seq,
		Order:     s.order,
		CreatedAt: s.Time,
		UpdatedAt: s.Time,
		Phase:     task.Pending,
	}
	s.put(r)
	s.activate(r)
	s.submittedEvent(r)
	return r
}

// activate adds a task that is not over to the indexes of such tasks.
func (s *State) activate(r *task.Record) {
	addTo(s.active, r.Submit.User, r.Submit.ID)
	if k := groupOf(r); k.name != "" {
		addTo(s.activeInGroup, k, r.Submit.ID)
	}
	for _, sum := range r.Submit.Task.Sums() {
		s.uploadUses[task.UploadKey{User: r.Submit.User, Sum: sum}]++
	}
}

// deactivate removes a task that ends from the indexes of activate; r is the record before the end.
func (s *State) deactivate(r *task.Record) {
	removeFrom(s.active, r.Submit.User, r.Submit.ID)
	removeFrom(s.activeInGroup, groupOf(r), r.Submit.ID)
	for _, sum := range r.Submit.Task.Sums() {
		k := task.UploadKey{User: r.Submit.User, Sum: sum}
		if s.uploadUses[k]--; s.uploadUses[k] == 0 {
			delete(s.uploadUses, k)
		}
	}
}

// addTo adds an id to one of several sets.
func addTo[K comparable](sets map[K]map[string]bool, k K, id string) {
	if sets[k] == nil {
		sets[k] = map[string]bool{}
	}
	sets[k][id] = true
}

// removeFrom removes an id from one of several sets, and the set if it is empty.
func removeFrom[K comparable](sets map[K]map[string]bool, k K, id string) {
	if delete(sets[k], id); len(sets[k]) == 0 {
		delete(sets, k)
	}
}

// stop has no effect on a task that is over, and reports success.
func (s *State) stop(c task.Stop) (task.Result, []task.Key) {
	r := s.Tasks[c.ID].Record()
	switch {
	case r == nil || r.Submit.User != c.User:
		return reject(c.ID, task.RejectedNotFound)
	case r.Phase.Over():
		return task.Result{ID: c.ID}, nil
	}
	s.finish(r, stopped)
	return accept(taskKey(c.ID))
}

func stopped(r *task.Record) { r.Phase, r.Reason, r.Message = task.Stopped, "", "" }

func (s *State) stopAll(c task.StopAll) (task.Result, []task.Key) {
	users := []string{c.User}
	if c.AllUsers {
		users = slices.Sorted(maps.Keys(s.active))
	}
	var changed []task.Key
	for _, user := range users {
		ids := s.selected(s.activeOf(user, c.Group), c.Filter)
		s.stopTasks(ids, stopped)
		for _, id := range ids {
			changed = append(changed, taskKey(id))
		}
	}
	return task.Result{Count: len(changed)}, changed
}

// selected returns those of the tasks that a filter selects; nil selects all.
func (s *State) selected(ids []string, f *task.Filter) []string {
	if f == nil {
		return ids
	}
	m := NewMatcher(*f)
	return slices.DeleteFunc(ids, func(id string) bool {
		s.yield()
		return !m.Matches(s.Tasks[id])
	})
}

// stopTasks ends tasks that are not over.
func (s *State) stopTasks(ids []string, set func(*task.Record)) {
	s.yield()
	s.events = slices.Grow(s.events, len(ids)) // to grow the slice of large values takes long
	for _, id := range ids {
		s.yield()
		s.unlink(id) // the task is ended by this stop, and not by the end of another task
	}
	for _, id := range ids {
		s.yield()
		s.finish(s.Tasks[id].Record(), set)
	}
}

func (s *State) resolved(f task.Resolved) (task.Result, []task.Key) {
	r := s.Tasks[f.ID].Record()
	if r == nil || r.Phase.Over() || r.Claims != nil {
		return reject(f.ID, task.RejectedStale)
	}
	s.change(r, func(r *task.Record) { r.Claims = f.Claims })
	return accept(taskKey(f.ID))
}

func (s *State) blocked(f task.Blocked) (task.Result, []task.Key) {
	if f.Key.Kind == task.KindVolume {
		return s.volumeBlocked(f)
	}
	r := s.Tasks[f.Key.ID].Record()
	if r == nil || r.Phase.Over() || r.UIDs != nil {
		return reject(f.Key.ID, task.RejectedStale)
	}
	block := func(r *task.Record) { r.Reason, r.Message = f.Reason, f.Message }
	next := s.change(r, block)
	s.changeJobGroup(next, block)
	s.taskEvent(next, task.EventProgress)
	return accept(f.Key)
}

// applied rejects the fact for a task that is over: the task was stopped or rejected first,
// and the controller deletes its Jobs.
func (s *State) applied(f task.Applied) (task.Result, []task.Key) {
	if f.Key.Kind == task.KindVolume {
		return s.volumeApplied(f)
	}
	r := s.Tasks[f.Key.ID].Record()
	if r == nil || r.Phase.Over() || r.UIDs != nil || len(r.WaitsFor) > 0 || r.Held || r.Submit.JobGroup != nil && !r.Admitted || len(f.UIDs) != r.NumNodes() {
		return reject(f.Key.ID, task.RejectedStale)
	}
	next := s.change(r, func(r *task.Record) {
		r.Admitted, r.UIDs, r.Reason, r.Message = true, f.UIDs, "", ""
		dropSpec(r)
	})
	s.appliedEvent(task.EventOfTask(next, task.EventProgress), "its Jobs exist")
	if next.Submit.JobGroup.Leads() { // the last task of the job group whose Jobs exist: all tasks may start
		s.changeJobGroup(next, func(*task.Record) {})
	}
	return accept(f.Key)
}

func (s *State) started(f task.Started) (task.Result, []task.Key) {
	r := s.Tasks[f.ID].Record()
	if r == nil || r.UIDs == nil || r.Phase != task.Pending {
		return reject(f.ID, task.RejectedStale)
	}
	s.change(r, func(r *task.Record) { startRun(r); r.Nodes = f.Nodes })
	return accept(taskKey(f.ID))
}

// startRun changes a task that has started. The log time of this entry is the start for the
// max_duration of the task: the clocks of the machines may be wrong.
func startRun(r *task.Record) {
	r.Phase = task.Running
	if r.StartedAt.IsZero() && r.Submit.Task.MaxDuration != "" {
		r.StartedAt = r.UpdatedAt
	}
}

// restarted accepts each attempt whose number follows the last attempt of its node. A task
// whose node starts again has started.
func (s *State) restarted(f task.Restarted) (task.Result, []task.Key) {
	r := s.Tasks[f.ID].Record()
	if r == nil || r.UIDs == nil || r.Phase.Over() {
		return reject(f.ID, task.RejectedStale)
	}
	all, ended := attempt.Accept(r.Attempts, f.Attempts, r.NumNodes())
	if len(ended) == 0 {
		return reject(f.ID, task.RejectedStale)
	}
	next := s.change(r, func(r *task.Record) { startRun(r); r.Attempts = all })
	for _, a := range ended {
		s.happened(attempt.Event(next, a))
	}
	return accept(taskKey(f.ID))
}

func (s *State) ended(f task.Ended) (task.Result, []task.Key) {
	r := s.Tasks[f.ID].Record()
	if r == nil || r.UIDs == nil || r.Phase.Over() || !f.Phase.Over() {
		return reject(f.ID, task.RejectedStale)
	}
	if s.Time.Before(f.NotBefore) {
		return reject(f.ID, task.RejectedEarly)
	}
	s.finish(r, func(r *task.Record) {
		if r.Phase, r.Reason, r.Message = f.Phase, f.Reason, f.Message; f.Nodes != nil {
			r.Nodes = f.Nodes
		}
	})
	return accept(taskKey(f.ID))
}

// rejected rejects the fact for a task whose Jobs all exist, because such a task runs.
func (s *State) rejected(f task.Rejected) (task.Result, []task.Key) {
	if f.Key.Kind == task.KindVolume {
		return s.volumeRejected(f)
	}
	r := s.Tasks[f.Key.ID].Record()
	if r == nil || r.UIDs != nil || r.Phase.Over() {
		return reject(f.Key.ID, task.RejectedStale)
	}
	s.finish(r, func(r *task.Record) {
		r.Phase, r.Reason, r.Message = task.Failed, f.Reason, f.Message
	})
	return accept(f.Key)
}

func (s *State) cleanedUp(k task.Key) (task.Result, []task.Key) {
	if k.Kind == task.KindVolume {
		return s.volumeCleanedUp(k)
	}
	r := s.Tasks[k.ID].Record()
	if r == nil || !r.Phase.Over() || r.CleanedUp {
		return reject(k.ID, task.RejectedStale)
	}
	next := *r
	next.CleanedUp = true // UpdatedAt stays, because cleaning up does not change the task
	s.put(&next)
	return accept(k)
}

// change replaces r with a changed copy and returns the copy.
func (s *State) change(r *task.Record, set func(*task.Record)) *task.Record {
	next := *r
	next.UpdatedAt = later(r.UpdatedAt, s.Time)
	set(&next)
	s.put(&next)
	if next.Phase != r.Phase {
		s.taskEvent(&next, task.EventPhase)
	}
	return &next
}

// finish is the change that ends a task.
func (s *State) finish(r *task.Record, set func(*task.Record)) {
	s.use(r.Submit)
	s.unlink(r.Submit.ID)
	next := s.change(r, func(r *task.Record) { set(r); dropSpec(r); r.EndSeq = s.Seq })
	s.account(r, next.Nodes)
	if next.Phase == task.Failed && r.Submit.FailFast {
		s.failedFast = append(s.failedFast, r.Submit.ID)
	}
	if r.Submit.JobGroup != nil {
		s.leftJobGroup = append(s.leftJobGroup, r.Submit.ID)
	}
	s.deactivate(r)
	s.advance(r.Submit.ID)
}

// dropSpec removes the fields that only the creation of the Jobs needs; the log or the archive
// still has the submission. The uploads stay until the task is over, because pods may request
// them. Lists need the GPUs and the labels, users see the restarts and the annotations, the controller needs
// max_duration, notifications need the URL, and nodes may send outputs for some time after the end.
func dropSpec(r *task.Record) {
	r.StopAt = time.Time{}
	r.WaitsFor, r.Submit.After, r.Submit.AfterAny, r.Held, r.Submit.MaxParallel = nil, nil, nil, false, 0
	t := r.Submit.Task
	retained := listedSpecOf(&r.Submit).Value().resources()
	retained.JobRecovery = r.Submit.Resources().JobRecovery
	r.Submit.Task = task.Spec{Name: t.Name, NumNodes: t.NumNodes, Resources: retained, MaxDuration: t.MaxDuration, EventCallback: t.EventCallback, Outputs: t.Outputs, Annotations: t.Annotations}
	if !r.Phase.Over() {
		r.Submit.Task.Uploads = t.Uploads
	}
	r.Submit.Sealed, r.Submit.SecretsMAC, r.Submit.Files, r.Submit.Trace, r.Submit.Spot, r.Submit.OutputLimit = nil, "", "", "", false, 0
	r.Submit.Transfer = bucket.Transfer{}
}
