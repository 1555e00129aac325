package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"k8s-cli/pkg/api/exec"
	"k8s-cli/pkg/exec/pods"
)

// execConfig says whether users may open sessions in the pods of their tasks, and for how long.
type execConfig struct {
	allow  bool
	limits exec.Limits
}

func (c *execConfig) define(f *pflag.FlagSet) {
	f.BoolVar(&c.allow, "allow-exec", false, "allow users to run commands in the pods of their tasks, and to connect to ports of these pods; the server then needs the permissions get and create of pods/exec and pods/portforward")
	f.DurationVar(&c.limits.Idle, "exec-idle-timeout", 30*time.Minute, "time without a byte after which the server ends a session in a pod; 0 means no limit")
	f.DurationVar(&c.limits.Total, "exec-timeout", 12*time.Hour, "maximum duration of a session in a pod; 0 means no limit")
}

func (c *execConfig) check() error {
	if c.limits.Idle < 0 || c.limits.Total < 0 {
		return usagef("--exec-idle-timeout and --exec-timeout must not be negative")
	}
	return nil
}

// pods returns the pods of tasks for sessions, or nil if sessions are not allowed.
func (p *parts) pods() (exec.Pods, error) {
	if !p.config.exec.allow {
		return nil, nil
	}
	all, err := pods.New(p.deps.execREST, p.config.namespace, p.store)
	if err != nil {
		return nil, fmt.Errorf("--allow-exec: %w", err)
	}
	return all, nil
}
