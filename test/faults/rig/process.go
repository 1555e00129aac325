// Package rig runs the system under test: servers, NATS nodes, a proxy in front of the API
// server for each server, and a namespace of a real cluster, which the rig watches directly.
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

// dump ends a hanging process with SIGQUIT, so that it writes its goroutines to its journal.
func dump(p *testkit.Process) {
	p.Signal(syscall.SIGQUIT)
	select {
	case <-p.Ended():
	case <-time.After(5 * time.Second):
		p.Kill()
	}
}

// A journal writes the output of all runs of a program to a file, and collects what the
// harness needs from it.
type journal struct {
	mu      sync.Mutex
	file    *os.File
	line    []byte
	terms   int      // times that the server became the leader
	trouble []string // lines that must not occur
}

var (
	leadingLine = []byte(`msg="leading: this pod `)
	panicLine   = []byte(`msg="panic while`)
)

func newJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &journal{file: f}, nil
}

// Write adds output to the journal.
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
