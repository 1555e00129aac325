package api

import (
	"github.com/prometheus/client_golang/prometheus"
)

// SlotLimits bound what is under way at once on one pod of the server. A zero Share
// means its default.
type SlotLimits struct {
	Downloads  SlotLimit // archives that are sent
	Uploads    SlotLimit // archives that arrive
	Events     SlotLimit // event streams
	Logs       SlotLimit // log streams
	Previews   SlotLimit
	Batches    SlotLimit // that are submitted, after all of their bodies arrived
	BatchBytes SlotLimit // of the bodies of batches in memory
}

// DefaultSlotLimits are those of a server whose operator says nothing.
var DefaultSlotLimits = SlotLimits{
	Downloads:  SlotLimit{128, 64}, // each has a part of an archive in memory, 256 KiB
	Uploads:    SlotLimit{64, 16},  // the same
	Events:     SlotLimit{2000, 500},
	Logs:       SlotLimit{4000, 1000},
	Previews:   SlotLimit{4, 2},
	Batches:    SlotLimit{4, 2},
	BatchBytes: SlotLimit{2 * maxBatch, maxBatch + 2*memoryStep}, // of one user: a batch, and how it turns out to be too large
}

// A slotPools has the slots of a server.
type slotPools struct{ downloads, uploads, events, logs, previews, batches, batchBytes *slots }

func newSlotPools(c SlotLimits) *slotPools {
	or := func(s, byDefault SlotLimit) SlotLimit {
		if s == (SlotLimit{}) {
			return byDefault
		}
		return s
	}
	d := DefaultSlotLimits
	return &slotPools{
		downloads:  newSlots("downloads", "downloads in progress", "--max-open-downloads-per-user", or(c.Downloads, d.Downloads), slotWait),
		uploads:    newSlots("uploads", "uploads in progress", "--max-open-uploads-per-user", or(c.Uploads, d.Uploads), slotWait),
		events:     newSlots("events", "open event streams", "--max-event-streams-per-user", or(c.Events, d.Events), 0),
		logs:       newSlots("logs", "open log streams", "--max-log-streams", or(c.Logs, d.Logs), 0),
		previews:   newSlots("previews", "previews in progress", "", or(c.Previews, d.Previews), slotWait),
		batches:    newSlots("batches", "batches in progress", "", or(c.Batches, d.Batches), slotWait),
		batchBytes: newSlots("batch_bytes", "bytes of batches in memory", "", or(c.BatchBytes, d.BatchBytes), slotWait),
	}
}

func (s *slotPools) all() []*slots {
	return []*slots{s.downloads, s.uploads, s.events, s.logs, s.previews, s.batches, s.batchBytes}
}

var (
	slotsDesc   = prometheus.NewDesc("k8s_cli_http_slots_in_use", "Slots of this pod in use.", []string{"kind"}, nil)
	totalDesc   = prometheus.NewDesc("k8s_cli_http_slots_limit", "Slots of this pod, for all users.", []string{"kind"}, nil)
	waitingDesc = prometheus.NewDesc("k8s_cli_http_slots_waiting_requests", "Requests that wait for a slot.", []string{"kind"}, nil)
)

// Describe is called by the registry.
func (s *slotPools) Describe(ch chan<- *prometheus.Desc) {
	ch <- slotsDesc
	ch <- totalDesc
	ch <- waitingDesc
}

// Collect is called by the registry.
func (s *slotPools) Collect(ch chan<- prometheus.Metric) {
	for _, one := range s.all() {
		inUse, waiting := one.count()
		ch <- prometheus.MustNewConstMetric(slotsDesc, prometheus.GaugeValue, float64(inUse), one.kind)
		ch <- prometheus.MustNewConstMetric(totalDesc, prometheus.GaugeValue, float64(one.limit.Total), one.kind)
		ch <- prometheus.MustNewConstMetric(waitingDesc, prometheus.GaugeValue, float64(waiting), one.kind)
	}
}
