package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s-cli/test/faults/load"
	"k8s-cli/test/faults/rig"
	"k8s-cli/test/testkit"
)

//go:embed releases.txt
var releases string

// formerRelease returns the version and the commit of the newest release. formerRelease skips the
// test if there is none.
func formerRelease(t *testing.T) (version, commit string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(releases), "\n")
	last := lines[len(lines)-1]
	if strings.HasPrefix(last, "#") {
		t.Skip("releases.txt names no release")
	}
	version, commit, found := strings.Cut(last, " ")
	if !found || len(commit) != 40 {
		t.Fatalf("releases.txt: %q is not a version and a commit", last)
	}
	return version, commit
}

// A server of the newest release and a server of the current sources share a log under load,
// through an upgrade and a rollback. The rules of every run apply: nothing is lost, doubled,
// or visible on one server only.
func TestReleasesSideBySide(t *testing.T) {
	version, commit := formerRelease(t)
	testkit.Need(t, envKubeconfig, testkit.EnvPrograms)
	former, err := rig.BuildCommit(t.Context(), commit)
	if errors.Is(err, rig.ErrNoCommit) {
		t.Skipf("release %s: %v; git fetch --unshallow brings it", version, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	u := upgrade{former: former, current: filepath.Join(os.Getenv(testkit.EnvPrograms), "k8s-cli-server")}
	o := options{seed: 1, kubeconfig: os.Getenv(envKubeconfig), patience: 3 * time.Minute}
	s := scenario{name: "releases", sizes: sizes{servers: 2, nodes: 1, rounds: len(u.steps()), tasks: 200, clients: 16}, forgets: true, run: u.run}
	found, err := perform(t.Context(), o, s, former, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Errorf("violation: %s", v)
	}
}

// An upgrade is the paths of the two programs. The steps of an upgrade lead from former to
// current and back.
type upgrade struct{ former, current string }

// A step terminates one of the two servers and starts it with another program.
type step struct {
	what    string
	lead    bool // terminate the leader, so that the other server takes over
	becomes string
}

func (u upgrade) steps() []step {
	return []step{
		{"the follower is upgraded", false, u.current},
		{"the leader is upgraded, as the last one", true, u.current},
		{"the follower is rolled back", false, u.former},
		{"the leader is rolled back, as the last one", true, u.former},
	}
}

// logLimit is the size limit of the log. A snapshot is due after an eighth of the limit.
const logLimit = 2 << 20

func (u upgrade) run(ctx context.Context, p *performance) error {
	if err := p.LimitLog(ctx, logLimit); err != nil {
		return err
	}
	steps := u.steps()
	err := p.under(ctx, load.Mix, func(ctx context.Context, round int) (string, error) {
		return steps[round].what, p.take(ctx, steps[round])
	})
	for _, s := range p.Servers {
		if s.Said("please report this") > 0 {
			err = errors.Join(err, fmt.Errorf("%s has another state than the others", s.Name))
		}
	}
	return err
}

// take runs a step. The restarted server must start from a snapshot that the former leader
// has just stored.
func (p *performance) take(ctx context.Context, to step) error {
	leader, others, err := p.Leader(ctx)
	if err != nil {
		return err
	}
	ends, stays := others[0], leader
	if to.lead {
		ends, stays = leader, others[0]
	}
	if err := p.awaitSnapshot(ctx, leader); err != nil {
		return err
	}
	if err := ends.Terminate(ctx); err != nil {
		return err
	}
	err = testkit.Until(ctx, stays.Name+" to lead", func() (string, bool) {
		health := stays.Health(ctx)
		return fmt.Sprintf("%+v", health), health.Leading
	})
	if err != nil {
		return err
	}
	before := ends.Said(restored)
	ends.Become(to.becomes)
	if err := ends.Start(ctx); err != nil {
		return err
	}
	if ends.Said(restored) == before {
		return fmt.Errorf("%s did not start from the snapshot that %s has stored", ends.Name, leader.Name)
	}
	return nil
}

// Log messages about snapshots.
const (
	stored   = "snapshot stored"
	restored = "started from a snapshot"
)

// awaitSnapshot submits large tasks until the leader stores a snapshot.
func (p *performance) awaitSnapshot(ctx context.Context, leader *rig.Server) error {
	filler := p.load.Actor(p.clients)
	before, taken := leader.Said(stored), true
	err := testkit.Until(ctx, leader.Name+" to store a snapshot", func() (string, bool) {
		if leader.Said(stored) > before {
			return "", true
		}
		taken = load.Large(ctx, filler, logLimit/32)
		return "it has stored none", !taken
	})
	if !taken {
		err = errors.Join(err, errors.New("a large task was refused"))
	}
	return err
}
