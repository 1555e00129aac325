package policy

import (
	"testing"

	"k8s-cli/pkg/task"
)

func TestClaimsAllow(t *testing.T) {
	for _, tt := range []struct {
		name               string
		claim              task.Claim
		all, labelled, off bool
	}{
		{"nobody's", task.Claim{}, true, false, false},
		{"nobody's, with the label", task.Claim{Shared: true}, true, true, false},
		{"the user's volume", task.Claim{Ours: true, User: "ann"}, true, true, true},
		{"another user's volume", task.Claim{Ours: true, User: "bob", Shared: true}, false, false, false},
		{"a volume whose user only a label names", task.Claim{Ours: true, User: "ann", Legacy: true}, false, false, false},
		{"a per-node volume of the user", task.Claim{OfPod: true, User: "ann", Shared: true}, false, false, false},
		{"a per-node volume of another user", task.Claim{OfPod: true, User: "bob"}, false, false, false},
		{"a per-node volume of nobody known", task.Claim{OfPod: true}, false, false, false},
		{"another user's by the annotation", task.Claim{User: "bob", Shared: true}, false, false, false},
		{"the release's", task.Claim{OfRelease: true, Shared: true}, false, false, false},
		{"one that is being deleted", task.Claim{Deleting: true, Shared: true}, false, false, false},
		{"a reserved one", task.Claim{Name: "reserved", Shared: true}, false, false, false},
		{"a reserved one of the user", task.Claim{Name: "reserved", Ours: true, User: "ann"}, false, false, false},
	} {
		for literal, want := range map[LiteralClaims]bool{"": tt.all, LiteralAll: tt.all, LiteralLabelled: tt.labelled, LiteralOff: tt.off} {
			p := Claims{Literal: literal, Reserved: []string{"other", "reserved"}}
			if got := p.Allows("ann", &tt.claim); got != want {
				t.Errorf("%s, literal claims %q: %t, want %t", tt.name, literal, got, want)
			}
		}
	}
}
