package task

import (
	"strings"
	"testing"
)

func TestPhaseOfAVolume(t *testing.T) {
	claim := &Claim{Phase: "Released"}
	for _, tt := range []struct {
		name   string
		record VolumeRecord
		claim  *Claim
		seen   bool
		want   string
	}{
		{"just created", VolumeRecord{}, nil, false, "Pending"},
		{"not seen yet", VolumeRecord{UID: "u", Phase: "Bound"}, nil, false, "Bound"},
		{"seen", VolumeRecord{UID: "u", Phase: "Bound"}, claim, true, "Released"},
		{"seen, and gone", VolumeRecord{UID: "u", Phase: "Bound"}, nil, true, "Lost"},
		{"seen before it was applied", VolumeRecord{}, nil, true, "Pending"},
		{"refused", VolumeRecord{Rejected: true, Phase: "Pending"}, claim, true, "Failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := VolumeView{VolumeRecord: &tt.record, Claim: tt.claim, Seen: tt.seen}
			if got := v.CurrentPhase(); got != tt.want {
				t.Errorf("standing %s, want %s", got, tt.want)
			}
		})
	}
	if got := (&VolumeRecord{Deleted: true, Rejected: true, Phase: "Bound"}).CurrentPhase(); got != VolumeDeleted {
		t.Errorf("a deleted volume is %s", got)
	}
	if got := (&VolumeRecord{Rejected: true, Phase: "Bound"}).CurrentPhase(); got != VolumeFailed {
		t.Errorf("a refused volume is %s", got)
	}
}

func TestExplainVolume(t *testing.T) {
	v := VolumeView{VolumeRecord: &VolumeRecord{}, Note: Note{Reason: "ProvisioningFailed", Message: "m"}}
	if got := v.Explain(); got.Reason != "ProvisioningFailed" || got.Message != "m" || got.Hint != HintFor("ProvisioningFailed", "", nil) {
		t.Errorf("why %+v, want what Kubernetes says", got)
	}
	v.Reason, v.Message = "Forbidden", "n"
	if got := v.Explain(); got.Reason != "Forbidden" || got.Message != "n" {
		t.Errorf("why %+v, want what the log says", got)
	}
}

func TestEventsOfVolumes(t *testing.T) {
	r := &VolumeRecord{
		Create: Create{ID: "1a2b3c4d", User: "ann", Volume: Volume{Name: "data"}}, Phase: "Bound", Reason: "r",
		Message: strings.Repeat("m", 4097),
	}
	got := EventOfVolume(r, noon, "type")
	want := Event{
		Time: noon, Type: "type", Kind: KindVolume, VolumeID: "1a2b3c4d", Name: "data", User: "ann", Status: "Bound", Reason: "r",
		Message: got.Message,
	}
	if got.Time != want.Time || got.Key() != (Key{KindVolume, "1a2b3c4d"}) || got.Name != "data" || got.User != "ann" || got.Status != "Bound" || got.Reason != "r" || got.Type != "type" {
		t.Errorf("event %+v, want %+v", got, want)
	}
	if len(got.Message) > 4096 {
		t.Errorf("the message has %d bytes", len(got.Message))
	}
	for status, over := range map[string]bool{"Bound": false, "Failed": false, VolumeDeleted: true} {
		got.Status = status
		if got.Over() != over {
			t.Errorf("a volume that is %s is over: %v", status, !over)
		}
	}
}

func TestEventQuerySelectsEvents(t *testing.T) {
	task, other := Key{KindTask, "a"}, Key{KindTask, "b"}
	event := Event{Kind: KindTask, TaskID: "a", User: "ann"}
	for _, tt := range []struct {
		query EventQuery
		want  bool
	}{
		{EventQuery{User: "ann"}, true},
		{EventQuery{User: "bob"}, false},
		{EventQuery{User: "bob", AllUsers: true}, true},
		{EventQuery{User: "ann", Key: task}, true},
		{EventQuery{User: "ann", Key: other}, false},
		{EventQuery{User: "bob", Key: task}, false},
		{EventQuery{User: "bob", Key: task, AllUsers: true}, false}, // a single object has one owner, whom the caller must name
		{EventQuery{User: "ann", Key: other, AllUsers: true}, false},
	} {
		if got := tt.query.Wants(event); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.query, got, tt.want)
		}
	}
}

func TestRecoveryRestartsNodes(t *testing.T) {
	for _, tt := range []struct {
		recovery       Recovery
		evicted, again bool
	}{
		{Recovery{}, false, false},
		{Recovery{Strategy: NoStrategy}, false, false},
		{Recovery{Strategy: "FAILOVER"}, true, true},
		{Recovery{Restarts: 1}, false, true},
		{Recovery{ExitCodes: []int{1}}, false, true},
		{Recovery{Strategy: NoStrategy, Restarts: 1}, false, true},
	} {
		if got := tt.recovery.RestartsOnEviction(); got != tt.evicted {
			t.Errorf("%+v after an eviction: %v, want %v", tt.recovery, got, tt.evicted)
		}
		if got := tt.recovery.MayRestart(); got != tt.again {
			t.Errorf("%+v: %v, want %v", tt.recovery, got, tt.again)
		}
	}
}

func TestResourcesThatWereChosen(t *testing.T) {
	s := Submit{Task: Spec{Resources: Resources{AnyOf: []Resources{{CPUs: "1"}, {CPUs: "2"}}}}}
	for choice, want := range []string{"1", "2", "2"} {
		s.Choice = choice
		if got := s.Resources().CPUs; got != want {
			t.Errorf("choice %d has %s CPUs, want %s", choice, got, want)
		}
	}
}

// TestExpiredEntries checks entries that NATS stores later than their writer allowed.
func TestExpiredEntries(t *testing.T) {
	for _, tt := range []struct {
		name  string
		entry Entry
		want  bool
	}{
		{"no limit", Entry{Time: noon}, false},
		{"in time", Entry{Time: noon, Until: noon.UnixMilli()}, false},
		{"too late", Entry{Time: noon, Until: noon.UnixMilli() - 1}, true},
	} {
		if got := tt.entry.IsExpired(); got != tt.want {
			t.Errorf("%s: expired is %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestCutTextsOfEvents checks that a shortened text ends with a whole rune and with "...".
func TestCutTextsOfEvents(t *testing.T) {
	for _, tt := range []struct{ message, want string }{
		{strings.Repeat("a", 4096), strings.Repeat("a", 4096)},
		{strings.Repeat("a", 4097), strings.Repeat("a", 4093) + "..."},
		{strings.Repeat("a", 4092) + "éééé", strings.Repeat("a", 4092) + "..."},
		{strings.Repeat("a", 4091) + "éééé", strings.Repeat("a", 4091) + "é..."},
	} {
		if got := EventOfVolume(&VolumeRecord{Message: tt.message}, noon, "").Message; got != tt.want {
			t.Errorf("%d bytes are cut to ...%q, want ...%q", len(tt.message), got[len(got)-8:], tt.want[len(tt.want)-8:])
		}
	}
}
