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
)

// An attack is a request, or several, and the right answer.
type attack struct {
	name    string
	want    string // the right answer, in words
	control bool   // no attack: a request of an honest user, which has to work
	long    bool   // left out of the short form
	try     func(ctx context.Context, w *environment) result
}

// A result says what an attack sent, what the answer was and whether that was the
// right one.
type result struct {
	sent, got string
	held      bool
	figure    string // a measurement, if there was one
}

// An outcome is the result of an attack of a group.
type outcome struct {
	group  string
	attack attack
	result
}

// A group holds the attacks on one promise.
type group struct {
	name    string
	attacks func() []attack
	atOnce  int // attacks that run at the same time
}

func groups() []group {
	return []group{
		{"framing", framingAttacks, 16},
		{"proxy", smugglingAttacks, 1},
		{"early", earlyAttacks, 8},
		{"names", nameAttacks, 16},
		{"nobody", nobodyAttacks, 16},
		{"tokens", tokenAttacks, 16},
		{"oidc", oidcAttacks, 8},
		{"proxies", trustedProxyAttacks, 8},
		{"rebinding", rebindingAttacks, 8},
		{"isolation", isolationAttacks, 1},
		{"paths", pathAttacks, 8},
		{"pod_config", podConfigAttacks, 16},
		{"metadata", metadataAttacks, 16},
		{"classes", classAttacks, 16},
		{"bombs", bombAttacks, 2},
		{"claims", claimAttacks, 4},
		{"caches", cacheAttacks, 8},
		{"review", reviewAttacks, 1},
		{"nats", natsAttacks, 8},
		{"cli", cliAttacks, 8},
		{"downloads", downloadAttacks, 1},
		{"slots", slotAttacks, 1},
	}
}

const tryTimeout = 3 * time.Minute // for one attack

// perform runs the attacks that match only, one group after the other, and calls
// each with every outcome.
func perform(ctx context.Context, w *environment, only string, each func(outcome)) (done []outcome, err error) {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	for _, g := range groups() {
		var some []attack
		for _, a := range g.attacks() {
			if chosen.MatchString(g.name+"/"+a.name) && (!a.long || !w.options.short) {
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
			ctx, cancel := context.WithTimeout(ctx, tryTimeout)
			defer cancel()
			done[i] = outcome{g.name, a, a.try(ctx, w)}
		})
	}
	running.Wait()
	return done
}

// scene is an attack of several steps; the error of f says what got through.
func scene(name, want string, f func(ctx context.Context, w *environment) error) attack {
	return attack{name: name, want: want, try: func(ctx context.Context, w *environment) result {
		if err := f(ctx, w); err != nil {
			return result{sent: "(several steps)", got: err.Error()}
		}
		return result{got: want, held: true}
	}}
}

// control marks a as no attack.
func control(a attack) attack {
	a.control = true
	return a
}

// brief returns the beginning of a text, in one line.
func brief(s string) string {
	const most = 300
	if len(s) > most {
		s = s[:most] + fmt.Sprintf("... (%d bytes)", len(s))
	}
	s = fmt.Sprintf("%q", s)
	return strings.ReplaceAll(s[1:len(s)-1], `\"`, `"`)
}

// byName yields the pairs of m in the order of their names.
func byName[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}
