package group

import "testing"

func TestMembershipOfAnItem(t *testing.T) {
	base := Membership{Group: "g", MaxParallel: 3, FailFast: true}
	for _, tt := range []struct{ own, want Membership }{
		{Membership{}, base},
		{Membership{Group: "h"}, Membership{Group: "h"}},
		{Membership{MaxParallel: 5}, Membership{Group: "g", MaxParallel: 5}},
		{Membership{FailFast: true}, Membership{Group: "g", FailFast: true}},
	} {
		if got := tt.own.Or(base); got != tt.want {
			t.Errorf("%+v.Or(%+v) = %+v, want %+v", tt.own, base, got, tt.want)
		}
	}
}

func TestLimitsOfAGroup(t *testing.T) {
	for _, tt := range []struct {
		m    Membership
		want string
	}{
		{Membership{}, ""},
		{Membership{Group: "g", MaxParallel: 1, FailFast: true}, ""},
		{Membership{Group: "-"}, `group: `},
		{Membership{MaxParallel: 1}, "max_parallel: the task belongs to no group; name a group in group, or omit max_parallel"},
		{Membership{FailFast: true}, "fail_fast: the task belongs to no group; name a group in group, or omit fail_fast"},
	} {
		err := tt.m.Check()
		if got := ""; err != nil {
			got = err.Error()
			if tt.want == "" || len(got) < len(tt.want) || got[:len(tt.want)] != tt.want {
				t.Errorf("%+v: %q, want %q", tt.m, got, tt.want)
			}
		} else if tt.want != "" {
			t.Errorf("%+v: no error, want %q", tt.m, tt.want)
		}
	}
	for text, want := range map[string]int{"": 0, "1": 1, "250": 250, "0": -1, "-1": -1, "x": -1, "1.5": -1, "99999999999": -1} {
		got, err := ParseMaxParallel(text)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
}
