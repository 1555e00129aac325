// Package subject names the streams and subjects of NATS that the log, the events
// and the permissions of subscribers agree on.
package subject

import (
	"strings"

	"k8s-cli/pkg/task"
)

// The log has one subject, since it has one order. Subscribers may hear events,
// never the log.
const (
	LogStream = "LOG"
	Log       = "log"

	EventStream = "EVENTS"
	Events      = "event.>" // of all users; what subscribers hear
	Ingest      = "told.>"  // to which events are published, and which nobody may hear

	Inboxes = "_INBOX.>" // where answers of NATS arrive
)

// EventsOf returns the subjects of the events of one user.
func EventsOf(user string) string { return "event.*." + task.Token(user) + ".>" }

// OfEvent returns the subject at which subscribers hear an event: event.task.<user>.<id>,
// or event.volume.<user>.<id>, as tokens.
func OfEvent(e task.Event) string { return "event." + suffix(e) }

// OfIngest returns the subject to which an event is published.
func OfIngest(e task.Event) string { return "told." + suffix(e) }

func suffix(e task.Event) string {
	return strings.Join([]string{string(e.Kind), task.Token(e.User), task.Token(e.Key().ID)}, ".")
}
