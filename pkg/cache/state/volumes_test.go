package state

import (
	"slices"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
)

func TestCommandsAndFactsAboutAVolume(t *testing.T) {
	v := volumeKey("v")
	wanted := history(create("ann", "v", "data"))
	there := history(create("ann", "v", "data"), applied(v, "u"))
	deleted := history(create("ann", "v", "data"), applied(v, "u"), remove("ann", "v"))
	failed := history(create("ann", "v", "data"), refused(v, "Invalid"))
	for _, tt := range []struct {
		name    string
		history []task.Command
		then    task.Command
		refusal task.Rejection
		want    string // summary of volume v
	}{
		{"a creation makes a volume", nil, create("ann", "v", "data"), "", "ann"},
		{"an id that is in use is taken", wanted, create("bob", "v", "data"), taken, "ann"},
		{"an id of a volume that is being deleted is taken", deleted, create("bob", "v", "data"), taken, "ann, uid u, deleted"},

		{"its owner deletes it", there, remove("ann", "v"), "", "ann, uid u, deleted"},
		{"nobody else does", there, remove("bob", "v"), unknown, "ann, uid u"},
		{"it is deleted once", deleted, remove("ann", "v"), unknown, "ann, uid u, deleted"},
		{"what was never there is not deleted", nil, remove("ann", "v"), unknown, "none"},
		{"one that was refused can be deleted", failed, remove("ann", "v"), "", "ann, refused, because Invalid, deleted"},

		{"a delay gives its reason", wanted, delayed(v, "Quota"), "", "ann, because Quota"},
		{"a delay of one that is there is late", there, delayed(v, "Quota"), late, "ann, uid u"},
		{"what is applied has a UID", append(wanted, delayed(v, "Quota")), applied(v, "u"), "", "ann, uid u"},
		{"it is applied once", there, applied(v, "w"), late, "ann, uid u"},
		{"it has one UID", wanted, applied(v, "u", "w"), late, "ann"},
		{"it is not applied once it is deleted", append(wanted, remove("ann", "v")), applied(v, "u"), late, "ann, deleted"},
		{"a refusal is for good", wanted, refused(v, "Invalid"), "", "ann, refused, because Invalid"},
		{"a refusal of one that is there is late", there, refused(v, "Invalid"), late, "ann, uid u"},

		{"what is deleted goes, and is remembered", deleted, gone(v), "", "ann, uid u, deleted, gone"},
		{"what nobody deleted is not gone", there, gone(v), late, "ann, uid u"},
		{"what is gone goes no more", append(deleted, gone(v)), gone(v), late, "ann, uid u, deleted, gone"},
		{"its id is taken", append(deleted, gone(v)), create("bob", "v", "data"), taken, "ann, uid u, deleted, gone"},
		{"it is not adopted again", append(deleted, gone(v)), adoptedVolume("ann", "v"), late, "ann, uid u, deleted, gone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestState(t, tt.history...)
			result, changed := s.fold(tt.then)
			if result.Rejection != tt.refusal || result.ID != "v" {
				t.Errorf("verdict %+v, want refusal %q", result, tt.refusal)
			}
			if got := volumeSummary(s.Volumes["v"]); got != tt.want {
				t.Errorf("volume is %q, want %q", got, tt.want)
			}
			if (result.Rejection == "") != (len(changed) == 1) {
				t.Errorf("verdict %+v changes %v", result, changed)
			}
		})
	}
}

func TestAVolumeThatTasksUseIsNotDeleted(t *testing.T) {
	mounts := history(create("ann", "v", "data"), applied(volumeKey("v"), "u"), submit("ann", "b"), submit("ann", "a"), submit("ann", "c"), resolved("a", "data-v"), resolved("b", "data-v"), resolved("c", "models"))
	forced := task.Command{Delete: &task.Delete{User: "ann", ID: "v", Force: true}}
	for _, tt := range []struct {
		name    string
		history []task.Command
		then    task.Command
		using   []string
	}{
		{"that wait or run", mounts, remove("ann", "v"), []string{"a", "b"}},
		{"of which one is over", append(mounts, stop("ann", "a")), remove("ann", "v"), []string{"b"}},
		{"that are all over", append(mounts, stopAll("ann")), remove("ann", "v"), nil},
		{"unless it is forced", mounts, forced, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestState(t, tt.history...)
			result, _ := s.fold(tt.then)
			if inUse := result.Rejection == task.RejectedInUse; !slices.Equal(result.Tasks, tt.using) || inUse != (tt.using != nil) || s.Volumes["v"].Deleted == inUse {
				t.Errorf("verdict %+v, volume %s", result, volumeSummary(s.Volumes["v"]))
			}
		})
	}
	if result, _ := newTestState(t, mounts...).fold(remove("bob", "v")); result.Rejection != unknown || result.Tasks != nil {
		t.Errorf("another user's deletion: %+v", result)
	}
}

func TestSecondVolumeOfANameIsWarnedAbout(t *testing.T) {
	for _, tt := range []struct {
		name    string
		history []task.Command
		want    bool
	}{
		{"the first of a name", nil, false},
		{"the second of a name", history(create("ann", "1", "data")), true},
		{"another user's of that name", history(create("bob", "1", "data")), false},
		{"after the first was deleted", history(create("ann", "1", "data"), remove("ann", "1")), false},
		{"another name", history(create("ann", "1", "other")), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result, _ := newTestState(t, tt.history...).fold(create("ann", "2", "data"))
			got := len(result.Warnings) == 1 && strings.Contains(result.Warnings[0], "another volume named data")
			if got != tt.want {
				t.Errorf("warnings %q", result.Warnings)
			}
		})
	}
}

func TestTasksAndVolumesShareNoIDs(t *testing.T) {
	s := newTestState(t, submit("ann", "x"), create("ann", "x", "data"), remove("ann", "x"), gone(volumeKey("x")))
	if got := summary(s.Tasks["x"].Record()); got != "pending" {
		t.Errorf("task is %q", got)
	}
	if v, _ := s.fold(stop("ann", "x")); v.Rejection != "" {
		t.Errorf("stop: %+v", v)
	}
}
