package main

import (
	"github.com/spf13/pflag"

	"k8s-cli/pkg/api"
	"k8s-cli/pkg/api/slots"
)

// slotConfig holds the limits of concurrent downloads, uploads and streams on each pod of
// the server.
type slotConfig struct {
	downloads, uploads, events, logs, sessions slots.Limit
}

// slotFlags are the two flags of one limit: the total, and the share of one user.
type slotFlags struct {
	total, perUser string
	limit          *slots.Limit
	name           string
}

func (c *slotConfig) flags() []slotFlags {
	return []slotFlags{
		{"max-open-downloads", "max-open-downloads-per-user", &c.downloads, "concurrent downloads of uploaded archives"},
		{"max-open-uploads", "max-open-uploads-per-user", &c.uploads, "concurrent uploads of archives"},
		{"max-event-streams", "max-event-streams-per-user", &c.events, "open event streams"},
		{"max-open-log-streams", "max-log-streams", &c.logs, "open log streams"},
		{"max-exec-sessions", "max-exec-sessions-per-user", &c.sessions, "open sessions in pods of tasks"},
	}
}

func (c *slotConfig) define(f *pflag.FlagSet) {
	d := api.DefaultSlotLimits
	*c = slotConfig{d.Downloads, d.Uploads, d.Events, d.Logs, d.Sessions}
	for _, one := range c.flags() {
		f.IntVar(&one.limit.Total, one.total, one.limit.Total, "maximum number of "+one.name+" per server pod, for all users together")
		f.IntVar(&one.limit.PerUser, one.perUser, one.limit.PerUser, "maximum number of "+one.name+" of one user per server pod")
	}
}

func (c *slotConfig) check() error {
	for _, one := range c.flags() {
		if one.limit.Total < 2 || one.limit.PerUser < 1 || one.limit.PerUser >= one.limit.Total {
			return usagef("--%s and --%s: %d and %d must be a total of at least 2 and a smaller number of at least 1", one.total, one.perUser, one.limit.Total, one.limit.PerUser)
		}
	}
	return nil
}

func (c *slotConfig) limits() api.SlotLimits {
	return api.SlotLimits{Downloads: c.downloads, Uploads: c.uploads, Events: c.events, Logs: c.logs, Sessions: c.sessions}
}
