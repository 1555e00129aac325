package main

import (
	"github.com/spf13/pflag"

	"k8s-cli/pkg/api"
)

// shareConfig is what flags and environment say may be under way at once, on each pod
// of the server.
type shareConfig struct {
	downloads, uploads, events, logs api.SlotLimit
}

// shareFlags are the names of a total and of a user's share of it.
type shareFlags struct {
	total, perUser string
	share          *api.SlotLimit
	what           string
}

func (c *shareConfig) flags() []shareFlags {
	return []shareFlags{
		{"max-open-downloads", "max-open-downloads-per-user", &c.downloads, "archives of files that are downloaded at once"},
		{"max-open-uploads", "max-open-uploads-per-user", &c.uploads, "archives of files that are uploaded at once"},
		{"max-event-streams", "max-event-streams-per-user", &c.events, "event streams that are open at once"},
		{"max-open-log-streams", "max-log-streams", &c.logs, "log streams that are open at once"},
	}
}

func (c *shareConfig) define(f *pflag.FlagSet) {
	d := api.DefaultSlotLimits
	*c = shareConfig{d.Downloads, d.Uploads, d.Events, d.Logs}
	for _, one := range c.flags() {
		f.IntVar(&one.share.Total, one.total, one.share.Total, "most "+one.what+", on each pod of the server")
		f.IntVar(&one.share.PerUser, one.perUser, one.share.PerUser, "most "+one.what+" of one user, on each pod of the server")
	}
}

func (c *shareConfig) check() error {
	for _, one := range c.flags() {
		if one.share.Total < 2 || one.share.PerUser < 1 || one.share.PerUser >= one.share.Total {
			return usagef("--%s and --%s: %d and %d must be a total of at least 2 and a smaller number of at least 1", one.total, one.perUser, one.share.Total, one.share.PerUser)
		}
	}
	return nil
}

func (c *shareConfig) shares() api.SlotLimits {
	return api.SlotLimits{Downloads: c.downloads, Uploads: c.uploads, Events: c.events, Logs: c.logs}
}
