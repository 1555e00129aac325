package state

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s-cli/pkg/task"
)

// snapshotVersion is the version of the snapshots that this release writes and reads. A new
// field of a record needs no new version: an older release rejects the line with the unknown
// field.
const snapshotVersion = 1

// A Snapshot is a State after one entry. A Snapshot is safe for concurrent use, and equal
// states have equal bytes on every pod.
type Snapshot struct {
	state State
	hash  func() string
}

// Snapshot returns the present state. Snapshot copies the maps, but not their values.
func (s *State) Snapshot() *Snapshot {
	t := &Snapshot{state: *s}
	t.state.Yield = nil
	t.state.Tasks, t.state.Volumes, t.state.keys = maps.Clone(s.Tasks), maps.Clone(s.Volumes), maps.Clone(s.keys)
	t.state.Uploads, t.state.over = maps.Clone(s.Uploads), maps.Clone(s.over)
	t.state.ledger = s.ledger.clone()
	t.state.writers = make(map[string]*writer, len(s.writers))
	for id, w := range s.writers {
		last := *w
		t.state.writers[id] = &last
	}
	t.state.derived = derived{}
	t.hash = sync.OnceValue(func() string {
		sum := sha256.New()
		if err := t.Encode(sum); err != nil {
			return "" // neither the hash nor the encoding can fail
		}
		return hex.EncodeToString(sum.Sum(nil))
	})
	return t
}

// Log returns the id of the log of the snapshot.
func (t *Snapshot) Log() string { return t.state.Log }

// Seq returns the sequence of the last entry in the snapshot.
func (t *Snapshot) Seq() uint64 { return t.state.Seq }

// Hash returns the SHA-256 of the encoded snapshot, hexadecimal.
func (t *Snapshot) Hash() string { return t.hash() }

// A head is the first line of an encoded snapshot.
type head struct {
	Version int          `json:"snapshot"`
	Log     string       `json:"log"`
	Seq     uint64       `json:"seq"`
	Time    time.Time    `json:"time"`
	Order   uint64       `json:"order"`
	Lines   int          `json:"lines"`               // number of lines that follow
	Last    task.EventID `json:"last_event,omitzero"` // id of the last event
}

// A line is one of the lines after the head; exactly one field is set.
type line struct {
	Task   *task.Record       `json:"task,omitempty"`
	Volume *task.VolumeRecord `json:"volume,omitempty"`
	Upload *task.UploadRecord `json:"upload,omitempty"`
	Key    *keyLine           `json:"key,omitempty"`
	Ended  *endedLine         `json:"ended_sessions,omitempty"`
	Answer *answered          `json:"answered,omitempty"`
	Usage  *usageLine         `json:"usage,omitempty"`
	Writer *writerLine        `json:"writer,omitempty"`
}

type keyLine struct {
	Kind task.Kind `json:"kind"`
	User string    `json:"user"`
	Key  string    `json:"key"`
	ID   string    `json:"id"`
	Body string    `json:"body"`

	Retired bool      `json:"retired,omitempty"`
	Used    time.Time `json:"used,omitzero"` // only for a retired key
}

type writerLine struct {
	ID      string        `json:"id"`
	Number  uint64        `json:"number"`
	Seq     uint64        `json:"seq"`
	Results []task.Result `json:"results"`
}

// Encode writes the snapshot as lines of JSON. The error is the error of w.
func (t *Snapshot) Encode(w io.Writer) error {
	s := &t.state
	buffer := bufio.NewWriterSize(w, 64<<10)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	used := s.ledger.lines()
	lines := len(used) + len(s.Tasks) + len(s.Volumes) + len(s.Uploads) + len(s.keys) + len(s.answered) + len(s.over) + len(s.writers)
	err := encoder.Encode(head{snapshotVersion, s.Log, s.Seq, s.Time, s.order, lines, s.last})
	put := func(l line) {
		if err == nil {
			err = encoder.Encode(l)
		}
	}
	byOrder := func(a, b *CompactRecord) int { return cmp.Compare(a.Order, b.Order) }
	for _, r := range slices.SortedFunc(maps.Values(s.Tasks), byOrder) {
		put(line{Task: r.Record()})
	}
	volumesByOrder := func(a, b *task.VolumeRecord) int { return cmp.Compare(a.Order, b.Order) }
	for _, v := range slices.SortedFunc(maps.Values(s.Volumes), volumesByOrder) {
		put(line{Volume: v})
	}
	for _, k := range slices.SortedFunc(maps.Keys(s.Uploads), byName) {
		put(line{Upload: new(s.Uploads[k])})
	}
	retired := make(map[idempotency]bool, len(s.retired))
	for _, k := range s.retired {
		retired[k.idempotency] = true
	}
	for _, k := range slices.SortedFunc(maps.Keys(s.keys), compareKeys) {
		if !retired[k] {
			put(line{Key: s.keyLine(k)})
		}
	}
	for _, k := range s.retired { // in order of retirement
		l := s.keyLine(k.idempotency)
		l.Retired, l.Used = true, k.at
		put(line{Key: l})
	}
	for _, a := range s.answered {
		put(line{Answer: &a})
	}
	for _, k := range slices.SortedFunc(maps.Keys(s.over), compareEnded) {
		put(line{Ended: &endedLine{k.user, k.id, s.over[k].seq, s.over[k].until}})
	}
	for _, u := range used {
		put(line{Usage: &u})
	}
	for _, id := range slices.Sorted(maps.Keys(s.writers)) {
		last := s.writers[id]
		put(line{Writer: &writerLine{id, last.number, last.seq, last.results}})
	}
	if err == nil {
		err = buffer.Flush()
	}
	if err != nil {
		return fmt.Errorf("write a snapshot: %w", err)
	}
	return nil
}

func (s *State) keyLine(k idempotency) *keyLine {
	return &keyLine{Kind: k.kind, User: k.user, Key: k.key, ID: s.keys[k].id, Body: s.keys[k].body}
}

func compareKeys(a, b idempotency) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.user, b.user), cmp.Compare(a.key, b.key))
}

// Decode returns the state of an encoded snapshot, on which later entries can be folded. The
// error is task.ErrUnknownCommand if the version of the snapshot is unknown.
func Decode(r io.Reader) (*State, error) {
	decoder := json.NewDecoder(r)
	decoder.DisallowUnknownFields()
	var h head
	if err := decoder.Decode(&h); err != nil {
		return nil, fmt.Errorf("read a snapshot: %w", err)
	}
	if h.Version != snapshotVersion {
		return nil, fmt.Errorf("read a snapshot: %w: version %d", task.ErrUnknownCommand, h.Version)
	}
	s := New()
	s.Log, s.Seq, s.Time, s.order, s.last = h.Log, h.Seq, h.Time, h.Order, h.Last
	for range h.Lines {
		var l line
		if err := decoder.Decode(&l); err != nil {
			return nil, fmt.Errorf("read a snapshot: %w", err)
		}
		if err := s.restore(l); err != nil {
			return nil, fmt.Errorf("read a snapshot: %w", err)
		}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read a snapshot: unexpected data after %d lines", h.Lines)
	}
	return s, nil
}

func (s *State) restore(l line) error {
	switch {
	case l.Task != nil:
		r := l.Task
		s.put(r)
		if !r.Phase.Over() {
			s.activate(r)
			s.link(r)
			if r.Held {
				s.groups[groupOf(r)].push(r)
			}
		}
	case l.Volume != nil:
		v := l.Volume
		s.Volumes[v.Create.ID] = v
		if !v.Deleted {
			s.volumeNames[volumeName{v.Create.User, v.Create.Volume.Name}]++
		}
	case l.Upload != nil:
		s.Uploads[l.Upload.Key()] = *l.Upload
	case l.Key != nil:
		k := l.Key
		s.keys[idempotency{k.Kind, k.User, k.Key}] = firstUse{k.ID, k.Body}
		if k.Retired {
			s.retired = append(s.retired, retiredKey{idempotency{k.Kind, k.User, k.Key}, k.Used})
		}
	case l.Answer != nil:
		s.answered = append(s.answered, *l.Answer)
	case l.Ended != nil:
		s.over[endedKey{l.Ended.User, l.Ended.ID}] = endedSessions{l.Ended.Seq, l.Ended.Until}
	case l.Usage != nil:
		s.ledger.add(l.Usage.Day, l.Usage.Key, l.Usage.Sum)
	case l.Writer != nil:
		w := l.Writer
		s.writers[w.ID] = &writer{w.Number, w.Seq, w.Results}
	default:
		return fmt.Errorf("%w: a line of unknown kind", task.ErrUnknownCommand)
	}
	return nil
}
