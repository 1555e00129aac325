package task

// A StoredEvent is an event in the stream of events.
type StoredEvent struct {
	Position uint64 // in the stream; the positions of all events ascend by 1
	Log      string // id of the log from which the event follows
	Event    Event
}

// EventBounds describes the stream of events.
type EventBounds struct {
	Stream      string // differs from the Stream of a stream that was deleted and created anew
	First, Last uint64 // positions of the oldest and of the newest event; Last is lower than First if no event exists
}
