package cache

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

func TestClaimsOfVolumeNames(t *testing.T) {
	mine, newer, others := create("ann", "1", "data"), create("ann", "2", "data"), create("bob", "3", "data")
	v1, v2, v3 := volumeKey("1"), volumeKey("2"), volumeKey("3")
	literal := func(c task.Claim) *task.Claim { c.Name = "data"; return &c }
	for _, tt := range []struct {
		name   string
		log    []task.Command
		claims []*task.Claim
		want   string // empty if the task waits
	}{
		{"nothing of that name", nil, nil, ""},
		{"the own volume", []task.Command{mine, applied(v1, "u")}, nil, "data-1"},
		{"the oldest of two", []task.Command{mine, newer, applied(v1, "u"), applied(v2, "u")}, nil, "data-1"},
		{"the oldest of two, though the newer one was applied first", []task.Command{mine, newer, applied(v2, "u")}, nil, ""},
		{"the newer one when the oldest is deleted", []task.Command{mine, newer, applied(v1, "u"), applied(v2, "u"), remove("ann", "1")}, nil, "data-2"},
		{"the newer one when the oldest was refused", []task.Command{mine, newer, refused(v1), applied(v2, "u")}, nil, "data-2"},
		{"not before it was applied", []task.Command{mine}, nil, ""},
		{"not a claim of that name while the own volume is on its way", []task.Command{mine}, []*task.Claim{literal(task.Claim{})}, ""},
		{"the own volume before a claim of that name", []task.Command{mine, applied(v1, "u")}, []*task.Claim{literal(task.Claim{})}, "data-1"},
		{"another user's volume never", []task.Command{others, applied(v3, "u")}, []*task.Claim{claim(others, "Bound")}, ""},
		{"a claim of that name", nil, []*task.Claim{literal(task.Claim{})}, "data"},
		{"a claim of that name beside another user's volume", []task.Command{others, applied(v3, "u")}, []*task.Claim{literal(task.Claim{})}, "data"},
		{"not a claim that is being deleted", nil, []*task.Claim{literal(task.Claim{Deleting: true})}, ""},
		{"not a claim that is another user's volume", nil, []*task.Claim{literal(task.Claim{Ours: true, User: "bob"})}, ""},
		{"not a claim of a user with the same label", nil, []*task.Claim{literal(task.Claim{Ours: true, User: "Ann"})}, ""},
		{"not a volume whose owner is not known", nil, []*task.Claim{literal(task.Claim{Ours: true})}, ""},
		{"not a claim whose owner only a label names", nil, []*task.Claim{literal(task.Claim{Ours: true, User: "ann", Legacy: true})}, ""},
		{"a claim that is the own volume", nil, []*task.Claim{literal(task.Claim{Ours: true, User: "ann"})}, "data"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, early := range []bool{true, false} { // the submission comes first or last
				p := newTestStore(t)
				if early {
					p.apply(mounting("ann", "a", "data"))
				}
				for _, c := range tt.claims {
					p.putClaim(c)
				}
				p.apply(tt.log...)
				if !early {
					p.apply(mounting("ann", "a", "data"))
				}
				v := p.view("a")
				if got := v.Resolved["data"]; got != tt.want {
					t.Errorf("it means %q, want %q", got, tt.want)
				}
				if waits := slices.Equal(v.Missing, []string{"data"}); waits != (tt.want == "") {
					t.Errorf("missing %q", v.Missing)
				}
			}
		})
	}
}

func TestWaitingTasksAreUpdatedByVolumes(t *testing.T) {
	p := newTestStore(t, mounting("ann", "a", "x", "y"), mounting("bob", "b", "x"), submit("ann", "c"))
	changes := changesOf(p.Store)
	if v := p.view("a"); !slices.Equal(v.Missing, []string{"x", "y"}) {
		t.Errorf("missing %q", v.Missing)
	}
	p.putClaim(&task.Claim{Name: "x"})
	if v := p.view("a"); !slices.Equal(v.Missing, []string{"y"}) || v.Resolved["x"] != "x" {
		t.Errorf("missing %q, resolved %v", v.Missing, v.Resolved)
	}
	if text := p.task("ann", "a"); text != "a of ann: pending without y" {
		t.Errorf("answer %q", text)
	}
	if diff := cmp.Diff([]task.Key{taskKey("a"), taskKey("b")}, changes()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	p.dropClaim("x", "")
	if v := p.view("b"); !slices.Equal(v.Missing, []string{"x"}) {
		t.Errorf("once it is gone: missing %q", v.Missing)
	}
	changes()
	p.apply(task.Command{Resolved: &task.Resolved{ID: "a", Claims: map[string]string{"x": "x", "y": "y"}}}, stop("bob", "b"))
	changes()
	p.putClaim(&task.Claim{Name: "x"})
	if got := changes(); len(got) != 0 {
		t.Errorf("those that wait no more are told: %v", got)
	}
	if v := p.view("a"); v.Missing != nil || v.Resolved != nil {
		t.Errorf("missing %q, resolved %v", v.Missing, v.Resolved)
	}
}

func TestTasksThatWillMountAVolume(t *testing.T) {
	p := newTestStore(t, create("ann", "v", "data"), create("ann", "young", "data"), create("bob", "w", "data"),
		mounting("ann", "a", "data"), mounting("ann", "b", "data-v", "other"), mounting("bob", "c", "data"), mounting("ann", "d", "other"))
	wants := func(when string, want map[string][]string) {
		t.Helper()
		got := map[string][]string{}
		for _, id := range []string{"v", "young", "w", "nobody's"} {
			if ids := p.PendingMounts(id); ids != nil {
				got[id] = ids
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	wants("before anything is created", map[string][]string{"v": {"a", "b"}, "w": {"c"}})
	p.apply(task.Command{Resolved: &task.Resolved{ID: "a", Claims: map[string]string{"data": "data-v"}}}, stop("bob", "c"))
	wants("once the log has one, and another is stopped", map[string][]string{"v": {"b"}})
	p.apply(create("ann", "z", "data-v"))
	wants("once another volume has the name of its claim", map[string][]string{})
}

func TestAVolumeAndItsClaim(t *testing.T) {
	c := create("ann", "v", "data")
	p := newTestStore(t, c)
	answer := func() string { return p.volume("ann", "v") }
	steps := []struct {
		name string
		do   func()
		want string
		seen bool
	}{
		{"at first there is none", func() {}, "v of ann", false},
		{"one of another creation is not its", func() { x := claim(c, "Bound"); x.Hash = "other"; p.putClaim(x) }, "v of ann", false},
		{"one of another user is not its", func() { x := claim(c, "Bound"); x.User = "bob"; p.putClaim(x) }, "v of ann", false},
		{"its own is shown", func() { p.putClaim(claim(c, "Pending")) }, "v of ann: Pending", true},
		{"so are its changes", func() { p.putClaim(claim(c, "Bound")) }, "v of ann: Bound", true},
		{"and its end", func() { p.dropClaim("data-v", "v") }, "v of ann", true},
	}
	for _, s := range steps {
		s.do()
		if v := p.VolumeView("v"); answer() != s.want || v.Seen != s.seen {
			t.Errorf("%s: %q, seen %v", s.name, answer(), v.Seen)
		}
	}
}

func TestListsOfVolumes(t *testing.T) {
	p := newTestStore(t, create("ann", "1", "data"), create("bob", "2", "data"), create("ann", "3", "models"))
	if got := p.volumes("ann", false); !slices.Equal(got, []string{"3", "1"}) {
		t.Errorf("ann has %v", got)
	}
	if got := p.volumes("ann", true); !slices.Equal(got, []string{"3", "2", "1"}) {
		t.Errorf("all have %v", got)
	}
	p.putClaim(claim(create("ann", "3", "models"), "Bound"))
	for _, tt := range []struct {
		query task.Query
		want  []string
		next  uint64
	}{
		{task.Query{User: "ann", Phase: "Bound"}, []string{"3"}, 0},
		{task.Query{AllUsers: true, Phase: "Pending"}, []string{"2", "1"}, 0},
		{task.Query{AllUsers: true, Name: "data", Limit: 2}, []string{"2", "1"}, 0},
		{task.Query{AllUsers: true, Limit: 2}, []string{"3", "2"}, 2},
		{task.Query{AllUsers: true, Limit: 2, Before: 2}, []string{"1"}, 0},
		{task.Query{User: "ann", Name: "dat"}, nil, 0},
	} {
		if got, next := p.listVolumes(tt.query); !slices.Equal(got, tt.want) || next != tt.next {
			t.Errorf("%+v: %v and %d, want %v and %d", tt.query, got, next, tt.want, tt.next)
		}
	}
	p.apply(remove("ann", "1"))
	if got := p.volumes("ann", false); !slices.Equal(got, []string{"3"}) {
		t.Errorf("after a deletion ann has %v", got)
	}
	if p.volume("ann", "1") != "" {
		t.Error("a deleted volume is answered for")
	}
	if v := p.VolumeView("1"); v.VolumeRecord == nil || !v.Deleted {
		t.Errorf("its view %+v", v)
	}
	p.apply(gone(volumeKey("1")))
	if v := p.VolumeView("1"); v.VolumeRecord == nil || !v.CleanedUp || slices.Contains(p.volumes("", true), "1") {
		t.Errorf("once it is gone: %+v", v)
	}
	late := create("ann", "1", "data")
	p.putClaim(claim(late, "Bound"))
	if v := p.VolumeView("1"); v.Claim == nil || !v.Deleted {
		t.Errorf("a claim that comes late is not known to be unwanted: %+v", v)
	}
	p.dropClaim(claim(late, "").Name, "1")
	if f, _ := p.Expired(noon.Add(time.Hour), 0, 10, 10); !slices.Equal(f.Volumes, []string{"1"}) {
		t.Errorf("expired %+v", f)
	}
	p.apply(task.Command{ExpireHistory: &task.ExpireHistory{Volumes: []string{"1"}}})
	if v := p.VolumeView("1"); v.VolumeRecord != nil || slices.Contains(p.Keys(), volumeKey("1")) {
		t.Errorf("once it is forgotten: %+v", v)
	}
	if f, _ := p.Expired(noon.Add(time.Hour), 0, 10, 10); len(f.Volumes) > 0 {
		t.Errorf("expired %+v", f)
	}
}

// A claim with the launcher's labels but without a record is reported to the controller, which
// may adopt it.
func TestAClaimWithoutARecordIsTold(t *testing.T) {
	p := newTestStore(t, create("ann", "known", "data"))
	changes := changesOf(p.Store)
	for _, tt := range []struct {
		name  string
		claim *task.Claim
		want  []task.Key
	}{
		{"ours", claim(create("ann", "v", "models"), "Bound"), []task.Key{volumeKey("v")}},
		{"another's", &task.Claim{Name: "other", VolumeID: "w"}, nil},
		{"one without an id", &task.Claim{Name: "another", Ours: true}, nil},
		{"that of a record", claim(create("ann", "known", "data"), "Bound"), []task.Key{volumeKey("known")}},
	} {
		if p.putClaim(tt.claim); !slices.Equal(changes(), tt.want) {
			t.Errorf("%s is not told as it should be", tt.name)
		}
	}
}
