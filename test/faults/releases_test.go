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

// formerRelease returns the version and the commit of the newest release.
func formerRelease(t *testing.T) (version, commit string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(releases), "\n")
	version, commit, found := strings.Cut(lines[len(lines)-1], " ")
	if !found || len(commit) != 40 {
		t.Fatalf("releases.txt: %q is not a version and a commit", lines[len(lines)-1])
	}
	return version, commit
}

// A server of the former release and one of the current sources share a log while
// all that users do goes on, through an upgrade and back. What was seen is held to
// the rules of every run: nothing is lost, doubled, or seen by one alone.
func TestReleasesSideBySide(t *testing.T) {
	testkit.Need(t, envKubeconfig, testkit.EnvPrograms)
	version, commit := formerRelease(t)
	former, err := rig.BuildCommit(t.Context(), commit)
	if errors.Is(err, rig.ErrNoCommit) {
		t.Skipf("release %s: %v; git fetch --unshallow brings it", version, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	nats, err := rig.BuildNATS(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	u := upgrade{former: former, current: filepath.Join(os.Getenv(testkit.EnvPrograms), "k8s-cli-server")}
	o := options{seed: 1, kubeconfig: os.Getenv(envKubeconfig), patience: 3 * time.Minute}
	s := scenario{name: "releases", sizes: sizes{servers: 2, nodes: 1, rounds: len(u.steps()), tasks: 200, clients: 16}, forgets: true, run: u.run}
	found, err := perform(t.Context(), o, s, rig.Programs{Server: former, NATS: nats}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Errorf("violation: %s", v)
	}
}

// An upgrade leads from one program to the other and back.
type upgrade struct{ former, current string }

// A step ends one of two servers and starts it as a program.
type step struct {
	what    string
	lead    bool // it is the leader that ends, and the other takes over
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

// logLimit makes snapshots of what is no more than an eighth of it.
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

// take has a server end and start as the step says. It starts from a snapshot that
// the one that led has just stored.
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

// What a server says of snapshots.
const (
	stored   = "snapshot stored"
	restored = "started from a snapshot"
)

// awaitSnapshot has the log grow until the leader stores a snapshot.
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
