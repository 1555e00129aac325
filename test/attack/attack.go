package main

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s-cli/test/testkit"
)

// An attack is one or more requests and the right answer to them.
type attack struct {
	name    string
	want    string // the right answer, in prose
	control bool   // not an attack: a valid request of a user, which must succeed
	try     func(ctx context.Context, w *environment) result
}

// A result says what an attack sent, what the answer was, and whether the answer was right.
type result struct {
	sent, got string
	held      bool
}

// An outcome is the result of one attack and the group of that attack.
type outcome struct {
	group  string
	attack attack
	result
}

// A group is the attacks on one promise.
type group struct {
	name    string
	attacks func() []attack
	atOnce  int // concurrent attacks
}

func groups() []group {
	return []group{
		{"reach", reachAttacks, 4},
		{"names", nameAttacks, 16},
		{"tokens", tokenAttacks, 16},
		{"oidc", oidcAttacks, 8},
		{"proxies", trustedProxyAttacks, 8},
		{"isolation", isolationAttacks, 1},
		{"paths", pathAttacks, 8},
		{"pod_config", podConfigAttacks, 16},
		{"metadata", metadataAttacks, 16},
		{"classes", classAttacks, 16},
		{"nats", natsAttacks, 8},
		{"cli", cliAttacks, 8},
	}
}

const tryTimeout = 3 * time.Minute // for each attack

// perform runs the attacks that match only, one group after the other, and calls each with
// every outcome.
func perform(ctx context.Context, w *environment, only string, each func(outcome)) (done []outcome, err error) {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	for _, g := range groups() {
		var some []attack
		for _, a := range g.attacks() {
			if chosen.MatchString(g.name + "/" + a.name) {
				some = append(some, a)
			}
		}
		for _, o := range g.perform(ctx, w, some) {
			each(o)
			done = append(done, o)
		}
		if err := context.Cause(ctx); err != nil {
			return done, err
		}
	}
	for _, o := range w.servers.outcomes() {
		each(o)
		done = append(done, o)
	}
	return done, nil
}

func (g group) perform(ctx context.Context, w *environment, attacks []attack) []outcome {
	done, slots := make([]outcome, len(attacks)), make(chan struct{}, g.atOnce)
	var running sync.WaitGroup
	for i, a := range attacks {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			ctx, cancel := testkit.WithPatience(ctx, tryTimeout)
			defer cancel()
			done[i] = outcome{g.name, a, a.try(ctx, w)}
		})
	}
	running.Wait()
	return done
}

// scene returns an attack with several steps. The error of f says what got through.
func scene(name, want string, f func(ctx context.Context, w *environment) error) attack {
	return attack{name: name, want: want, try: func(ctx context.Context, w *environment) result {
		if err := f(ctx, w); err != nil {
			return result{sent: "(several steps)", got: err.Error()}
		}
		return result{got: want, held: true}
	}}
}

// control marks a as a control, which is not an attack.
func control(a attack) attack {
	a.control = true
	return a
}

// brief returns the beginning of a text on one line.
func brief(s string) string {
	const most = 300
	if len(s) > most {
		s = s[:most] + fmt.Sprintf("... (%d bytes)", len(s))
	}
	s = fmt.Sprintf("%q", s)
	return strings.ReplaceAll(s[1:len(s)-1], `\"`, `"`)
}

// byName yields the pairs of m in the order of their keys.
func byName[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}
