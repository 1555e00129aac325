package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"

	"k8s-cli/pkg/api"
	"k8s-cli/pkg/release"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// A bootstrapServer answers requests while the server waits for NATS or the API server:
// liveness is OK, readiness names the missing dependency, and all other requests get 503.
type bootstrapServer struct {
	waitingFor atomic.Pointer[string]
	listener   net.Listener
	stop       context.CancelFunc
	ended      chan struct{}
}

// startBootstrap returns a bootstrap server that serves on listener until handOver or
// close.
func startBootstrap(listener net.Listener, login task.Login, logger *slog.Logger) *bootstrapServer {
	ctx, cancel := context.WithCancel(context.Background())
	s := &bootstrapServer{listener: listener, stop: cancel, ended: make(chan struct{})}
	server := api.New(nil, api.Readers{}, s, api.Config{Auth: s, Login: login, Version: release.Read().Version, CloseConnections: true, Logger: logger})
	go func() {
		defer close(s.ended)
		if err := server.Run(ctx, listener); !errors.Is(err, context.Canceled) {
			logger.Error("serving health checks during the start failed", "err", err)
		}
	}()
	return s
}

// handOver stops the bootstrap server. The bootstrap server accepts no connection after handOver has
// returned, so that every later connection reaches the server that reports that it is ready.
func (s *bootstrapServer) handOver() {
	s.stop()
	_ = s.listener.Close()
}

// close stops the bootstrap server and returns once it has stopped.
func (s *bootstrapServer) close() {
	s.handOver()
	<-s.ended
}

// setWaiting records the dependency that the server waits for, and the error of the last
// attempt.
func (s *bootstrapServer) setWaiting(what string, err error) {
	s.waitingFor.Store(new(fmt.Sprintf("starting: waiting for %s: %v", what, err)))
}

// Health names the dependency that the server waits for.
func (s *bootstrapServer) Health() api.Health {
	if what := s.waitingFor.Load(); what != nil {
		return api.Health{Degraded: []string{*what}}
	}
	return api.Health{Degraded: []string{"starting"}}
}

// Ready returns false: nothing can be read before the server has started.
func (s *bootstrapServer) Ready() bool { return false }

// ReadsUserHeader returns false: no header is trusted before the server has started.
func (s *bootstrapServer) ReadsUserHeader() bool { return false }

// Identify returns an error of kind problem.Starting for every caller.
func (s *bootstrapServer) Identify(context.Context, task.Credentials) (task.Identity, error) {
	return task.Identity{}, problem.New(problem.Starting, "the server is starting; try again")
}
