package main

import (
	"fmt"

	"k8s-cli/pkg/auth"
	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/queue"
	"k8s-cli/pkg/session"
	"k8s-cli/pkg/ui"
)

// pages returns the pages of the dashboard, or nil with --ui=off.
func (c *config) pages() (*ui.Site, error) {
	if c.ui == "off" {
		return nil, nil
	}
	if c.uiDir == "" {
		return ui.New()
	}
	site, err := ui.FromDir(c.uiDir)
	if err != nil {
		return nil, fmt.Errorf("--ui-dir: %w", err)
	}
	return site, nil
}

// newSessions returns the sessions of browsers. It returns nil with --ui=off, and without a
// sealing key. who is nil if X-User is trusted from every address.
func newSessions(c config, deps *dependencies, store *cache.Store, who *auth.Authenticator) *session.Manager {
	if c.ui == "off" || deps.sealer == nil {
		return nil
	}
	if who == nil {
		who = auth.New(auth.UserHeader{}, nil)
	}
	return session.New(session.Config{
		Login: c.identity.login(), Auth: who, OIDC: who.OIDC(), Names: c.identity.by == byHeader && c.identity.proxies == "",
		Box: deps.sealer, Log: deps.log, Store: store,
	})
}

// stateMachine returns the state that follows the log.
func (p *parts) stateMachine() queue.StateMachine {
	if p.sessions == nil {
		return p.store
	}
	return session.Follower{Store: p.store, Manager: p.sessions}
}
