package natsserver

import (
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/task"
)

// For any two user names, the permissions of one user allow no event of the other user and no
// entry of the log, allow every event of the user, and allow no request.
func FuzzSubscriberPermissions(f *testing.F) {
	for _, names := range [][2]string{
		{"ann", "bob"},
		{"*", "ann"},
		{">", "ann"},
		{"ann", "ann.>"},
		{"a.b", "a"},
		{"a", "a.b"},
		{"a@b", "a-b"},
		{"=40", "@"},
		{"a", "A"},
		{"", "="},
		{"ann\u00e9", "anne\u0301"},
		{"\u202eann", "ann"},
		{"$JS", "API"},
		{"==", strings.Repeat("@", 400)},
		{strings.Repeat("@", 400), strings.Repeat("@", 401)},
	} {
		f.Add(names[0], names[1], "x1")
	}
	f.Fuzz(func(t *testing.T, user, other, id string) {
		may := userPermissions(task.Identity{User: user})
		if !slices.Equal(may.Publish.Deny, []string{">"}) || len(may.Publish.Allow) > 0 || may.Response != nil {
			t.Fatalf("%q may publish: %+v", user, may)
		}
		hears := func(at string) bool {
			for _, a := range may.Subscribe.Allow {
				if !server.IsValidSubject(a) {
					t.Fatalf("%q may %q, which is no subject", user, a)
				}
				// A subscription may have wildcards: every subject that matches it must be
				// allowed.
				if server.SubjectsCollide(at, a) {
					return true
				}
			}
			return false
		}
		for _, kind := range []task.Kind{task.KindTask, task.KindVolume} {
			of := func(name string) string {
				e := task.Event{Kind: kind, User: name, TaskID: id, VolumeID: id}
				if at := subject.OfEvent(e); server.IsValidLiteralSubject(at) {
					return at
				}
				t.Fatalf("events of %q have the subject %q", name, subject.OfEvent(e))
				return ""
			}
			if !hears(of(user)) {
				t.Errorf("%q does not hear %q", user, of(user))
			}
			if user != other && hears(of(other)) {
				t.Errorf("%q hears %q of %q", user, of(other), other)
			}
		}
		for _, at := range []string{subject.Log, subject.Ingest, "$SYS.>", "$JS.>", "$KV.>", "$O.>", subject.Inboxes, "_R_.>"} {
			if hears(at) {
				t.Errorf("%q may hear %q", user, at)
			}
		}
	})
}
