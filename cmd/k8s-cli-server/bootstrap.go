package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"

	"k8s-cli/pkg/api"
	"k8s-cli/pkg/task"
)

// bootstrapServer answers for a server that does not have yet what it needs: that it is
// alive, and what it waits for. Everything else has to be asked again.
type bootstrapServer struct {
	waitingFor atomic.Pointer[string]
}

// start does so on listener until the server itself takes over. It returns what
// ends it, and what waits for its end.
func (s *bootstrapServer) start(listener net.Listener, login task.Login, logger *slog.Logger) (end, wait func()) {
	server := api.New(nil, nil, nil, nil, api.Config{Auth: s, Login: login, Health: s.health, Ready: s.ready, CloseConnections: true, Logger: logger})
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Run(ctx, listener); !errors.Is(err, context.Canceled) {
			logger.Error("nobody is answered before the server has started", "err", err)
		}
	}()
	return end, func() { <-ended }
}

// setWaiting notes what has not been reached yet, and why.
func (s *bootstrapServer) setWaiting(what string, err error) {
	s.waitingFor.Store(new(fmt.Sprintf("starting: waiting for %s: %v", what, err)))
}

func (s *bootstrapServer) health() api.Health {
	if what := s.waitingFor.Load(); what != nil {
		return api.Health{Degraded: []string{*what}}
	}
	return api.Health{Degraded: []string{"starting"}}
}

func (s *bootstrapServer) ready() bool { return false }

// ByHeader reports whether X-User is read, of which nothing is known yet.
func (s *bootstrapServer) ByHeader() bool { return false }

// Identify knows nobody yet.
func (s *bootstrapServer) Identify(context.Context, task.Credentials) (task.Identity, error) {
	return task.Identity{}, task.Error(task.ErrUnavailable, "the server is starting; try again")
}
