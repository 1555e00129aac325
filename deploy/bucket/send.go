package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fs/hash"
	"github.com/rclone/rclone/fs/operations"
)

// The files in the control directory, by which the container of the task and this program communicate.
const (
	doneFile   = "done"   // the scripts of the task have ended
	resultFile = "result" // "stored", or why files are not in their bucket
	aliveFile  = "alive"  // changes while this program works
	allStored  = "stored"
)

const (
	sendEvery = 5 * time.Second
	askEvery  = 500 * time.Millisecond
)

// A sender sends the changed files of one bucket.
type sender struct {
	bucket
	remote, local fs.Fs
	record        *record
	seen          map[string]version // changed files in the previous pass
}

// send sends the changed files of all buckets until the scripts of the task have ended and all files
// are stored. Then send waits until Kubernetes ends the container. After SIGTERM, send makes a last pass.
func (p plan) send(ctx context.Context, getenv func(string) string) error {
	ended := ctx.Done()
	ctx = context.WithoutCancel(ctx) // Kubernetes kills the container at the end of the grace period
	var senders []*sender
	err := p.alive(ctx, func() (err error) {
		senders, err = p.senders(ctx, getenv)
		return err
	})
	for done := false; err == nil && !done; {
		done = waitDone(ended, filepath.Join(p.Control, doneFile))
		err = p.alive(ctx, func() error { return sendAll(ctx, senders, done) })
	}
	return p.conclude(ended, redacted(err, &p, getenv))
}

// waitDone waits until it is time for a pass, and reports whether the scripts of the task have ended.
func waitDone(ended <-chan struct{}, path string) bool {
	next := time.After(sendEvery)
	for {
		if _, err := os.Stat(path); err == nil {
			return true
		}
		select {
		case <-ended:
			return true
		case <-next:
			return false
		case <-time.After(askEvery):
		}
	}
}

// conclude writes the result for the container of the task, and waits for the end of the pod. If the
// program ended, Kubernetes would start it again.
func (p plan) conclude(ended <-chan struct{}, err error) error {
	result := allStored
	if err != nil {
		result = err.Error()
	}
	path := filepath.Join(p.Control, resultFile)
	if err := errors.Join(os.WriteFile(path+".new", []byte(result), 0o644), os.Rename(path+".new", path)); err != nil {
		return err
	}
	<-ended
	return nil
}

// alive changes aliveFile while do runs, and once after it.
func (p plan) alive(ctx context.Context, do func() error) error {
	beat := func() {
		text := strconv.FormatInt(time.Now().UnixNano(), 10)
		_ = os.WriteFile(filepath.Join(p.Control, aliveFile), []byte(text), 0o644) // the container of the task gives up if the file does not change
	}
	beat()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for tick := time.NewTicker(sendEvery); ; beat() {
			select {
			case <-tick.C:
			case <-ctx.Done():
				tick.Stop()
				return
			}
		}
	}()
	return do()
}

func (p plan) senders(ctx context.Context, getenv func(string) string) ([]*sender, error) {
	var all []*sender
	for i, b := range p.Buckets {
		if !b.Send {
			continue
		}
		s := &sender{bucket: b}
		err := b.retry(ctx, "open", func() (err error) { s.remote, err = b.open(ctx, getenv); return err })
		if err == nil {
			s.local, err = fs.NewFs(ctx, b.Dir)
		}
		if err == nil {
			s.record, err = openRecord(p.recordOf(i))
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (p plan) recordOf(i int) string {
	return filepath.Join(p.Control, "record-"+strconv.Itoa(i))
}

// sendAll sends the changed files of all buckets. A bucket that fails does not keep the other buckets
// from being sent.
func sendAll(ctx context.Context, senders []*sender, all bool) error {
	var failed error
	for _, s := range senders {
		if err := s.pass(ctx, all); err != nil && failed == nil {
			failed = err
		}
	}
	if all {
		return failed
	}
	return nil // the last pass repeats what failed
}

// pass sends the changed files: all of them, or only those that are the same as in the previous pass
// and that no process has open for writing. pass sends the oldest files first.
func (s *sender) pass(ctx context.Context, all bool) error {
	files, err := filesBelow(s.Dir)
	if err != nil {
		return err
	}
	before := s.seen
	s.seen = map[string]version{}
	for _, f := range s.record.changed(files) {
		s.seen[f.path] = f.version
		if known, found := before[f.path]; !all && (!found || known != f.version || isOpen(filepath.Join(s.Dir, f.path))) {
			continue
		}
		if err := s.sendFile(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// isOpen reports whether a process has the file open for writing. If the kernel does not say so, the
// file counts as closed.
func isOpen(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	const setLease, readLease, unlock = 1024, syscall.F_RDLCK, syscall.F_UNLCK
	_, _, code := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), setLease, readLease)
	if code == 0 {
		_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), setLease, unlock)
	}
	return code == syscall.EAGAIN
}

// sendFile sends a file, unless the object has changed since the node read or wrote the object.
func (s *sender) sendFile(ctx context.Context, f file) error {
	return s.retry(ctx, "send "+f.path+" to", func() error {
		source, err := s.local.NewObject(ctx, f.path)
		if errors.Is(err, fs.ErrorObjectNotFound) {
			return nil // the task has removed the file
		}
		if err != nil {
			return err
		}
		there, err := s.replaceable(ctx, source)
		if err != nil {
			return err
		}
		sum, err := source.Hash(ctx, s.remote.Hashes().GetOne())
		if err == nil {
			err = s.record.intend(f.path, sum)
		}
		if err != nil {
			return err
		}
		sent, err := operations.Copy(ctx, s.remote, there, f.path, source)
		if err != nil {
			return err
		}
		return s.record.add(stored{Path: f.path, Local: f.version, Remote: sent.ModTime(ctx)})
	})
}

// replaceable returns the object that source replaces, nil if there is none. An object that another
// node or program changed is an error.
func (s *sender) replaceable(ctx context.Context, source fs.Object) (fs.Object, error) {
	path := source.Remote()
	there, err := s.remote.NewObject(ctx, path)
	if errors.Is(err, fs.ErrorObjectNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if known, found := s.record.entries[path]; found && known.matches(there.Size(), there.ModTime(ctx)) {
		return there, nil
	}
	if same, kind, err := operations.CheckHashes(ctx, source, there); err == nil && same && kind != hash.None {
		return there, nil
	}
	if sum, err := there.Hash(ctx, s.remote.Hashes().GetOne()); err == nil && slices.Contains(s.record.intents[path], sum) {
		return there, nil // sent by this node, which was interrupted before it recorded the object
	}
	return nil, permanent{fmt.Errorf("%s in %s was changed by another node or another program, and was not overwritten; let each node write to paths of its own, for example with $SKYPILOT_NODE_RANK", path, s.URL)}
}
