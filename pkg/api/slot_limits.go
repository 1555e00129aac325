package api

import (
	"k8s-cli/pkg/api/slots"
	"k8s-cli/pkg/api/submission"
)

// SlotLimits bounds the concurrent operations on one pod of the server. A zero limit means
// the default.
type SlotLimits struct {
	Downloads  slots.Limit // archives that the server sends
	Uploads    slots.Limit // archives that the server receives
	Events     slots.Limit // event streams
	Logs       slots.Limit // log streams
	Sessions   slots.Limit // open sessions in pods of tasks
	Previews   slots.Limit
	Batches    slots.Limit // batches in submission, after their bodies have arrived
	BatchBytes slots.Limit // bytes of the bodies of batches in memory
}

// DefaultSlotLimits holds the default limits.
var DefaultSlotLimits = SlotLimits{
	Downloads: slots.Limit{Total: 128, PerUser: 64}, // each download holds a part of an archive in memory, 256 KiB
	Uploads:   slots.Limit{Total: 64, PerUser: 16},  // each upload holds a part of an archive in memory, 256 KiB
	Events:    slots.Limit{Total: 2000, PerUser: 500},
	Logs:      slots.Limit{Total: 4000, PerUser: 1000},
	Sessions:  slots.Limit{Total: 256, PerUser: 64}, // each session holds about 300 KiB
	Previews:  slots.Limit{Total: 4, PerUser: 2},
	Batches:   slots.Limit{Total: 4, PerUser: 2},
	// The share of one user is one batch, plus the excess by which a batch is found to be
	// too large.
	BatchBytes: slots.Limit{Total: 2 * submission.MaxBatchBytes, PerUser: submission.MaxBatchBytes + 2*submission.MemoryStep},
}

// slotPools contains the pools of a server.
type slotPools struct{ downloads, uploads, events, logs, sessions, previews, batches, batchBytes *slots.Pool }

func newSlotPools(c SlotLimits) *slotPools {
	or := func(s, byDefault slots.Limit) slots.Limit {
		if s == (slots.Limit{}) {
			return byDefault
		}
		return s
	}
	d := DefaultSlotLimits
	return &slotPools{
		downloads:  slots.NewPool(slots.Kind{Name: "downloads", Units: "downloads in progress", Flag: "--max-open-downloads-per-user", Waits: true}, or(c.Downloads, d.Downloads)),
		uploads:    slots.NewPool(slots.Kind{Name: "uploads", Units: "uploads in progress", Flag: "--max-open-uploads-per-user", Waits: true}, or(c.Uploads, d.Uploads)),
		events:     slots.NewPool(slots.Kind{Name: "events", Units: "open event streams", Flag: "--max-event-streams-per-user"}, or(c.Events, d.Events)),
		logs:       slots.NewPool(slots.Kind{Name: "logs", Units: "open log streams", Flag: "--max-log-streams"}, or(c.Logs, d.Logs)),
		sessions:   slots.NewPool(slots.Kind{Name: "sessions", Units: "open sessions in tasks", Flag: "--max-exec-sessions-per-user", Waits: true}, or(c.Sessions, d.Sessions)),
		previews:   slots.NewPool(slots.Kind{Name: "previews", Units: "previews in progress", Waits: true}, or(c.Previews, d.Previews)),
		batches:    slots.NewPool(slots.Kind{Name: "batches", Units: "batches in progress", Waits: true}, or(c.Batches, d.Batches)),
		batchBytes: slots.NewPool(slots.Kind{Name: "batch_bytes", Units: "bytes of batches in memory", Waits: true}, or(c.BatchBytes, d.BatchBytes)),
	}
}

func (s *slotPools) all() slots.Metrics {
	return slots.Metrics{s.downloads, s.uploads, s.events, s.logs, s.sessions, s.previews, s.batches, s.batchBytes}
}
