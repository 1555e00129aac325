package attempt

import (
	"fmt"
	"slices"
	"time"

	"k8s-cli/pkg/task"
)

// The pauses of the Job controller of Kubernetes: the pause after the first failure doubles
// with each failure.
const (
	firstBackoff = 10 * time.Second
	maxBackoff   = 10 * time.Minute
)

// backoff returns the pause of the Job controller after a number of failures.
func backoff(failures int) time.Duration {
	pause := firstBackoff
	for range failures - 1 {
		if pause *= 2; pause >= maxBackoff {
			return maxBackoff
		}
	}
	return pause
}

// WaitNote explains that a node has failed and when it starts again. WaitNote returns the
// zero Note if the node does not wait for its next attempt.
func WaitNote(v task.View, rank int, now time.Time) task.Note {
	if !isAffected(v, v.Jobs[rank:rank+1]) {
		return task.Note{}
	}
	runs := Runs(v, rank)
	if !startsAgain(v, rank, runs) {
		return task.Note{}
	}
	var last task.Attempt
	if r := runs[len(runs)-1]; r.Ended != nil {
		last = *r.Ended
	} else {
		last = attemptOf(v, rank, runs, len(runs)-1)
	}
	when := "soon"
	if last.FinishedAt != nil {
		when = in(last.FinishedAt.Add(backoff(last.Number)).Sub(now))
	}
	return task.Note{
		Reason: task.ReasonBackOff,
		Message: fmt.Sprintf("%s, starts again %s; attempt %d ended: %s",
			Ordinal(last.Number+1, last.MaxAttempts), when, last.Number, Cause(last)),
	}
}

// in returns when something happens, in words.
func in(wait time.Duration) string {
	switch seconds := int((wait + time.Second - 1) / time.Second); {
	case seconds <= 0:
		return "now"
	case seconds < 120:
		return fmt.Sprintf("in %d s", seconds)
	default:
		return fmt.Sprintf("in %d min", (seconds+59)/60)
	}
}

// isAffected reports whether one of some nodes of the task was restarted or may be; jobs holds the
// Jobs of these nodes.
func isAffected(v task.View, jobs []*task.Job) bool {
	return v.Record != nil && (len(v.Attempts) > 0 || v.Earlier != nil || v.Submit.Resources().JobRecovery.MayRestart() || slices.ContainsFunc(jobs, backsOff))
}

// backsOff reports whether a Job replaces failed pods. Only a Job that was adopted without its
// submission can, if the record has no JobRecovery.
func backsOff(job *task.Job) bool { return job != nil && job.BackoffLimit > 0 }

// Describe adds the attempts of a task to the metadata of its status. Nodes that wait for
// their next attempt have no exit code: the exit code belongs to the attempt that ended.
func Describe(v task.View, m *task.Metadata) {
	if !isAffected(v, v.Jobs) {
		return
	}
	for rank := range m.Nodes {
		n := &m.Nodes[rank]
		runs := Runs(v, rank)
		n.Attempt, n.MaxAttempts = Current(v, rank), maxAttempts(v, rank, runs)
		if n.MaxAttempts < n.Attempt {
			n.MaxAttempts = 0
		}
		for _, r := range runs {
			if r.Ended != nil {
				n.Attempts = append(n.Attempts, *r.Ended)
			}
		}
		if startsAgain(v, rank, runs) {
			n.ExitCode, n.FinishedAt = nil, nil
		}
		m.Attempt = max(m.Attempt, n.Attempt)
		m.Restarts += n.Attempt - 1
		m.MaxRestarts = max(m.MaxRestarts, MaxRestarts(v, rank))
	}
}
