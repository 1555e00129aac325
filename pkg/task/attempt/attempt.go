// Package attempt follows the attempts of the nodes of a task. An attempt is one pod of a
// node. If a pod ends and the task has job_recovery, the Job of the node replaces the pod,
// and the next attempt begins. The log records each attempt that was followed by another
// one; the record of a task holds the first and the last of them.
package attempt

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"k8s-cli/pkg/task"
)

// How many ended attempts of each node the record of a task and the archive of its logs
// hold.
const (
	KeepFirst = 5
	KeepLast  = 5
)

// maxMessage is the largest message of an attempt in the record of a task, in bytes.
const maxMessage = 256

// Kept reports whether the record and the archive hold an attempt after newest attempts
// have ended.
func Kept(number, newest int) bool { return number <= KeepFirst || number > newest-KeepLast }

// Of returns the recorded attempts of a node, oldest first. The recorded attempts of a task are
// sorted by rank and number.
func Of(all []task.Attempt, rank int) []task.Attempt {
	first := sort.Search(len(all), func(i int) bool { return all[i].Rank >= rank })
	n := sort.Search(len(all)-first, func(i int) bool { return all[first+i].Rank > rank })
	return all[first : first+n]
}

// Last returns the last recorded attempt of a node; Number is 0 if there is none.
func Last(all []task.Attempt, rank int) task.Attempt {
	if of := Of(all, rank); len(of) > 0 {
		return of[len(of)-1]
	}
	return task.Attempt{}
}

// Accept adds new attempts to the recorded attempts of a task with a number of nodes. An
// attempt is added if its number follows the last attempt of its node. Accept returns the
// attempts to record, in a new list, and the added attempts as they were reported.
func Accept(recorded, reported []task.Attempt, nodes int) (all, added []task.Attempt) {
	all = slices.Clone(recorded)
	newest := map[int]int{} // number of the last attempt of a node that was reported, by rank
	for _, a := range reported {
		if a.Rank < 0 || a.Rank >= nodes || a.Number != max(newest[a.Rank], Last(recorded, a.Rank).Number)+1 {
			continue
		}
		newest[a.Rank] = a.Number
		added = append(added, a)
		a.LastLines, a.Message = "", clip(a.Message)
		all = append(all, a)
	}
	all = slices.DeleteFunc(all, func(a task.Attempt) bool { return newest[a.Rank] > 0 && !Kept(a.Number, newest[a.Rank]) })
	slices.SortStableFunc(all, func(a, b task.Attempt) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Number, b.Number))
	})
	return all, added
}

func clip(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	cut := maxMessage
	for cut > 0 && text[cut]&0xC0 == 0x80 { // within a rune
		cut--
	}
	return text[:cut] + "..."
}

// Event returns the event that an attempt of a task ended and the node starts again.
func Event(r *task.Record, a task.Attempt) task.Event {
	e := task.EventOfTask(r, task.EventRestart)
	e.Reason, e.Message, e.Attempt = a.Reason, Ordinal(a.Number, a.MaxAttempts)+" ended: "+Cause(a), &a
	if r.NumNodes() > 1 {
		e.Message = fmt.Sprintf("node %d: %s", a.Rank, e.Message)
	}
	return e
}

// Ordinal returns "attempt 2 of 3", or "attempt 2" if the largest number is unknown.
func Ordinal(number, most int) string {
	if most < number {
		return fmt.Sprintf("attempt %d", number)
	}
	return fmt.Sprintf("attempt %d of %d", number, most)
}

// Cause returns why an attempt ended, in a few words.
func Cause(a task.Attempt) string {
	switch {
	case a.Message != "":
		return a.Message
	case a.ExitCode != nil:
		return fmt.Sprintf("exit code %d", *a.ExitCode)
	}
	return cmp.Or(a.Reason, "its pod was deleted")
}
