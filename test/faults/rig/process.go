// Package rig runs what the faults are done to: servers of ours, nodes of NATS,
// a proxy in front of the API server for each server, and a namespace of a real
// cluster that is watched from outside.
package rig

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"k8s-cli/test/testkit"
)

// dump ends a process that hangs, which says in its journal where it does.
func dump(p *testkit.Process) {
	p.Signal(syscall.SIGQUIT)
	select {
	case <-p.Ended():
	case <-time.After(5 * time.Second):
		p.Kill()
	}
}

// A journal keeps what all runs of a program said, in a file, and what the
// harness has to know of it.
type journal struct {
	mu      sync.Mutex
	file    *os.File
	line    []byte
	terms   int      // times that the server began to lead
	trouble []string // lines that no journal may hold
}

var (
	leadingLine = []byte("leading: this pod applies commands")
	panicLine   = []byte(`msg="panic while`)
)

func newJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &journal{file: f}, nil
}

// Write adds to the journal.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range p {
		if b != '\n' {
			j.line = append(j.line, b)
			continue
		}
		switch {
		case bytes.Contains(j.line, leadingLine):
			j.terms++
		case testkit.Trouble.Match(j.line), bytes.Contains(j.line, panicLine):
			j.trouble = append(j.trouble, string(j.line[:min(len(j.line), 500)]))
		}
		j.line = j.line[:0]
	}
	return j.file.Write(p)
}

func (j *journal) seen() (terms int, trouble []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.terms, j.trouble
}
