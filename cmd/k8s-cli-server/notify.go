package main

import (
	"context"

	"k8s-cli/pkg/notify"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/pkg/task/callback"
)

// newNotifier returns the notifier. It turns notifications off if the server has no key to
// derive the secrets of users.
func (p *parts) newNotifier() (*notify.Notifier, error) {
	c, d := &p.config, p.deps
	settings := notify.Config{Hosts: c.policy.tasks.Callbacks, Retention: c.history, Logger: p.logger, CaughtUp: func(ctx context.Context) bool {
		_, ok := d.log.WaitReadIndex(ctx)
		return ok
	}}
	if d.sealer != nil {
		settings.Secret = d.sealer.NotifySecret
	} else if p.notifies() {
		p.logger.Warn("notifications are off, because the server has no sealing key; set --secrets-key-file")
		c.policy.tasks.Callbacks = nil
	}
	positions, err := streams.NewCheckpoint(d.nats, streams.CheckpointConfig{
		Settings: streams.Settings{Replicas: c.natsReplicas, Dir: embeddedDir(*c), Logger: p.logger},
		Stream:   "NOTIFICATIONS", Subject: "notifications.position", Description: "how far notifications were delivered, see docs/notifications.md",
		Embedded: d.embedded != nil,
	})
	if err != nil {
		return nil, err
	}
	return notify.New(d.events, positions, p.store.TaskView, settings), nil
}

// notifies reports whether the server sends notifications.
func (p *parts) notifies() bool { return len(p.config.policy.tasks.Callbacks) > 0 }

// notifySecret returns the function that returns the secret of a user, or nil if the server
// sends no notifications.
func (p *parts) notifySecret() func(user string) string {
	if !p.notifies() {
		return nil
	}
	return func(user string) string { return callback.FormatSecret(p.deps.sealer.NotifySecret(user)) }
}
