// Package subject defines the names of NATS streams and subjects. The log, the events and the
// permissions of subscribers share them.
package subject

import (
	"strings"

	"k8s-cli/pkg/task"
)

// The log has one subject because it has one order. Subscribers may receive events, but never
// entries of the log.
const (
	LogStream = "LOG"
	Log       = "log"

	EventStream = "EVENTS"
	Events      = "event.>" // of all users; subscribers receive these
	TaskEvents  = "event.task.>"
	Ingest      = "told.>" // the publisher sends events here; subscribers have no permission for it

	Inboxes = "_INBOX.>" // where NATS delivers replies
)

// EventsOf returns the subjects of the events of one user.
func EventsOf(user string) string { return "event.*." + task.Token(user) + ".>" }

// TaskEventsOf returns the subjects of the events of the tasks of one user.
func TaskEventsOf(user string) string { return "event.task." + task.Token(user) + ".>" }

// TaskOf returns the id of the task to whose events a subject belongs. An id is its own token.
func TaskOf(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// OfEvent returns the subject on which subscribers receive an event: event.task.<user>.<id> or
// event.volume.<user>.<id>, each part encoded as a token.
func OfEvent(e task.Event) string { return "event." + suffix(e) }

// OfIngest returns the subject to which the publisher sends an event.
func OfIngest(e task.Event) string { return "told." + suffix(e) }

func suffix(e task.Event) string {
	return strings.Join([]string{string(e.Kind), task.Token(e.User), task.Token(e.Key().ID)}, ".")
}
