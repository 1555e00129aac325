package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// A doubtful JetStream answers the first submissions with errors, and passes everything else
// to the JetStream behind it.
type doubtful struct {
	jetstream.JetStream
	errs []error
	next atomic.Int64
}

func (d *doubtful) Publish(ctx context.Context, subject string, raw []byte, o ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if bytes.Contains(raw, []byte(`"submit"`)) {
		if n := int(d.next.Add(1)) - 1; n < len(d.errs) {
			return nil, d.errs[n]
		}
	}
	return d.JetStream.Publish(ctx, subject, raw, o...)
}

// Once an entry may be stored, a later rejection of the same entry is not reported as "nothing
// was stored".
func TestRejectionsAfterAnUnknownResultDoNotCount(t *testing.T) {
	t.Parallel()
	full := &jetstream.APIError{Code: 503, ErrorCode: 10077, Description: "maximum messages exceeded"}
	for _, tt := range []struct {
		name     string
		errs     []error
		rejected bool
	}{
		{"a rejection", []error{full}, true},
		{"a doubt", []error{nats.ErrTimeout}, false},
		{"a rejection after a doubt", []error{nats.ErrTimeout, full}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := open(t, natstest.Connect(t, natstest.Embed(t, t.TempDir())), Config{SingleWriter: true})
			l.js = &doubtful{JetStream: l.js, errs: tt.errs}
			folded := &fakeStateMachine{}
			must.Run(t, func(ctx context.Context) error { return l.Run(ctx, folded) })
			_, err := l.Append(t.Context(), natstest.Submission("a"))
			if rejected := err != nil; rejected != tt.rejected {
				t.Errorf("error %v", err)
			}
			if stored := slices.Equal(folded.seen(), []string{"a"}); stored == tt.rejected {
				t.Errorf("the log has %q", folded.seen())
			}
		})
	}
}

func TestOnlyDeletedEntriesMayBeMissing(t *testing.T) {
	t.Parallel()
	log, _ := start(t)
	for _, id := range natstest.Names("task", 5) { // entries 2 to 6: the first entry names the log
		log.put(t, id)
	}
	for _, seq := range []uint64{3, 4} {
		must.Succeed(t, log.stream.DeleteMsg(natstest.Context(t), seq))
	}
	for _, tt := range []struct {
		first, last uint64
		want        bool
	}{{3, 4, true}, {3, 3, true}, {4, 4, true}, {3, 5, false}, {2, 4, false}, {5, 5, false}, {4, 3, false}} {
		if err := log.verifyDeleted(natstest.Context(t), tt.first, tt.last); (err == nil) != tt.want {
			t.Errorf("entries %d to %d: %v", tt.first, tt.last, err)
		}
	}
}

func TestTheArchiveHasNoSecrets(t *testing.T) {
	t.Parallel()
	encode := func(commands ...task.Command) []byte {
		e := task.Entry{Version: task.EntryVersion, Log: "log"}
		for _, c := range commands {
			raw, err := c.Encode()
			must.Succeed(t, err)
			e.Commands = append(e.Commands, raw)
		}
		raw, err := e.Encode()
		must.Succeed(t, err)
		return raw
	}
	open, sealed := natstest.Submission("a"), natstest.Submission("b")
	stop := task.Command{Stop: &task.Stop{User: "ann", ID: `"sealed"`}}
	bare := encode(open, sealed, stop)
	sealed.Submit.SecretsMAC = "mark"
	if err := json.Unmarshal([]byte(`{"sealed":"c2VjcmV0"}`), sealed.Submit); err != nil || sealed.Submit.Sealed == nil {
		t.Fatalf("%v, %+v", err, sealed.Submit)
	}
	for _, tt := range []struct{ name, raw, want string }{
		{"a secret", string(encode(open, sealed, stop)), string(bare)},
		{"no secret", string(bare), string(bare)},
	} {
		got, err := stripSecrets([]byte(tt.raw))
		if diff := cmp.Diff(tt.want, string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
	if raw, err := stripSecrets([]byte(`{"sealed"`)); err == nil {
		t.Errorf("what cannot be read is kept as %s", raw)
	}
}
