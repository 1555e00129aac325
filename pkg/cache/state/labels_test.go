package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLabels(t *testing.T) {
	s := labelsOf(map[string]string{"team": "search", "empty": "", "a.b/c": "x"}, map[string]string{"team": "ads"}, nil)
	for label, want := range map[string]bool{
		"team": true, "team=ads": true, "team=search": false, "team=ad": false, "team=": false, "tea": false, "eam": false,
		"empty": true, "empty=": true, "a.b/c=x": true, "c": false, "b/c": false, "x": false, "ads": false,
	} {
		if got := s.Has(RequireLabel(label)); got != want {
			t.Errorf("%q has %s: %t", s, label, got)
		}
	}
	if diff := cmp.Diff(map[string]string{"team": "ads", "empty": "", "a.b/c": "x"}, s.Map()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if none := labelsOf(nil, map[string]string{}); none != "" || none.Map() != nil || none.Has(RequireLabel("a")) {
		t.Errorf("no labels are %q, %v", none, none.Map())
	}
}
