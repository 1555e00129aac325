package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

func encoded(t *testing.T, s *Snapshot) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func decoded(t *testing.T, text string) *State {
	t.Helper()
	s, err := Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A pod that starts from a snapshot reaches the same state as a pod that has read the whole
// log.
func TestAStateGoesOnFromASnapshotAsItDid(t *testing.T) {
	for seed := range seeds(50) {
		g := generator{rand.New(rand.NewPCG(seed, 5))}
		entries := g.log(200)
		cut := g.IntN(len(entries))
		whole := New()
		folded(whole, entries[:cut])
		snapshot := whole.Snapshot()
		hash, text := snapshot.Hash(), encoded(t, snapshot)
		want := folded(whole, entries[cut:])
		if encoded(t, snapshot) != text {
			t.Fatalf("seed %d: what was folded later changed the snapshot", seed)
		}

		resumed := decoded(t, text)
		if again := resumed.Snapshot(); again.Hash() != hash || encoded(t, again) != text {
			t.Fatalf("seed %d: the restored state is another one:\n%s", seed, cmp.Diff(text, encoded(t, again)))
		}
		if got := folded(resumed, entries[cut:]); !reflect.DeepEqual(plain(want), plain(got)) {
			t.Fatalf("seed %d: results (-whole +from the snapshot):\n%s", seed, cmp.Diff(plain(want), plain(got)))
		}
		tidy(whole)
		tidy(resumed)
		if !reflect.DeepEqual(whole, resumed) {
			t.Fatalf("seed %d: states (-whole +from the snapshot):\n%s", seed,
				cmp.Diff(whole, resumed, cmp.Exporter(func(reflect.Type) bool { return true })))
		}
	}
}

// plain returns results without their snapshots, which the test compares by hash.
func plain(results []FoldResult) []FoldResult {
	out := make([]FoldResult, len(results))
	for i, r := range results {
		r.Snapshot = nil
		out[i] = r
	}
	return out
}

func TestSnapshotMarkerGivesTheStateAfterItsEntry(t *testing.T) {
	s := newTestState(t, submit("ann", "1"))
	r := s.foldTogether(task.Command{SnapshotMarker: &task.SnapshotMarker{}}, submit("ann", "2"))
	if r.Snapshot == nil {
		t.Fatal("no snapshot was taken")
	}
	want := s.Snapshot()
	s.fold(submit("ann", "3"))
	if r.Snapshot.Hash() != want.Hash() || r.Snapshot.Seq() != 3 || r.Snapshot.Log() != "log" {
		t.Errorf("snapshot of %s at entry %d:\n%s", r.Snapshot.Log(), r.Snapshot.Seq(), cmp.Diff(encoded(t, want), encoded(t, r.Snapshot)))
	}
	if sum := sha256.Sum256([]byte(encoded(t, want))); hex.EncodeToString(sum[:]) != want.Hash() {
		t.Errorf("the hash %s is not that of the bytes", want.Hash())
	}
	again := s.Fold(entry(s.Seq+1, "writer", s.number, task.Command{SnapshotMarker: &task.SnapshotMarker{}}))
	if again.Snapshot != nil {
		t.Error("a repeated entry took a snapshot")
	}
}

func TestSnapshotStoredIsPassedOn(t *testing.T) {
	s := newTestState(t)
	kept := &task.SnapshotStored{Seq: 7, Hash: "abc"}
	if r := s.foldTogether(task.Command{SnapshotStored: kept}); !cmp.Equal(r.SnapshotStored, kept) || len(r.Changed) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestDecodeRejectsInvalidSnapshots(t *testing.T) {
	whole := encoded(t, newTestState(t, submit("ann", "1"), create("ann", "1", "data")).Snapshot())
	for _, tt := range []struct {
		name, text string
		unknown    bool
	}{
		{"nothing", "", false},
		{"no JSON", "x", false},
		{"a version to come", strings.Replace(whole, `{"snapshot":1,`, `{"snapshot":2,`, 1), true},
		{"a field to come", strings.Replace(whole, `"order":1,`, `"order":1,"colour":"red",`, 1), false},
		{"a line that says nothing", strings.Replace(whole, "\n", "\n{}\n", 1), true},
		{"a line too many", whole + "{}\n", false},
		{"cut short", whole[:len(whole)-20], false},
		{"a line too few", whole[:strings.LastIndex(strings.TrimSpace(whole), "\n")+1], false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Decode(strings.NewReader(tt.text))
			if err == nil || s != nil || errors.Is(err, task.ErrUnknownCommand) != tt.unknown {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}
