package state

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

func uploaded(user, sum string) task.Command {
	return task.Command{Upload: &task.Upload{User: user, Sum: sum, Object: user + "/" + sum, Size: 1}}
}

func discarded(user, sum string, then time.Time) task.Command {
	return task.Command{DeleteUploads: &task.DeleteUploads{Uploads: []task.UploadKey{{User: user, Sum: sum}}, Then: then}}
}

func submitWith(user, id string, sums ...string) task.Command {
	c := submit(user, id)
	c.Submit.Task.Uploads = map[string]string{}
	for _, sum := range sums {
		c.Submit.Task.Uploads["/"+sum] = sum
	}
	c.Submit.Key, c.Submit.Files = "key-"+id, "http://server"
	return c
}

// after is later than all entries of these logs.
var after = noon.Add(time.Hour)

func TestSubmissionsNeedTheirUploads(t *testing.T) {
	for _, tt := range []struct {
		name    string
		before  []task.Command
		missing []string
	}{
		{"that are there", history(uploaded("ann", "x"), uploaded("ann", "y")), nil},
		{"one of which is not", history(uploaded("ann", "y")), []string{"x"}},
		{"that are another user's", history(uploaded("bob", "x"), uploaded("Ann", "y")), []string{"x", "y"}},
		{"one of which was discarded", history(uploaded("ann", "x"), uploaded("ann", "y"), discarded("ann", "x", after)), []string{"x"}},
		{"one of which came again", history(uploaded("ann", "y"), uploaded("ann", "x"), discarded("ann", "x", after), uploaded("ann", "x")), nil},
		{"one of which was to be discarded, and was used since", history(uploaded("ann", "y"), uploaded("ann", "x"), discarded("ann", "x", noon)), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestState(t, tt.before...)
			v, _ := s.fold(submitWith("ann", "a", "x", "y"))
			want := task.Result{ID: "a"}
			if tt.missing != nil {
				want.Rejection, want.Sums = task.RejectedMissingUploads, tt.missing
			}
			if diff := cmp.Diff(want, v); diff != "" || (s.Tasks["a"] == nil) != (tt.missing != nil) {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

// The key of a rejected submission stays free. The key of an accepted submission gives the
// same result after its uploads are deleted.
func TestKeysOfSubmissionsWithUploads(t *testing.T) {
	s := newTestState(t)
	if v, _ := s.fold(submitWith("ann", "a", "x")); v.Rejection != task.RejectedMissingUploads {
		t.Fatalf("%+v", v)
	}
	s.fold(uploaded("ann", "x"))
	again := submitWith("ann", "b", "x")
	again.Submit.Key = "key-a"
	if v, _ := s.fold(again); v.Rejection != "" || v.ID != "b" {
		t.Fatalf("%+v", v)
	}
	s.fold(stop("ann", "b"))
	s.fold(discarded("ann", "x", after))
	again.Submit.ID = "c"
	if v, _ := s.fold(again); v.Rejection != "" || v.ID != "b" {
		t.Errorf("repeated: %+v", v)
	}
}

func TestUploadsStayWhileATaskNeedsThem(t *testing.T) {
	s := newTestState(t, uploaded("ann", "x"), uploaded("bob", "x"), submitWith("ann", "a", "x"), applied(taskKey("a"), "u"))
	if got := s.Tasks["a"].Record().Submit; got.Task.Uploads["/x"] != "x" || got.Files != "" || got.Task.Run != "" {
		t.Errorf("an applied task keeps %+v", got)
	}
	s.fold(discarded("ann", "x", after))
	s.fold(discarded("bob", "x", after))
	if _, ok := s.Uploads[task.UploadKey{User: "ann", Sum: "x"}]; !ok || len(s.Uploads) != 1 {
		t.Fatalf("left: %v", s.Uploads)
	}
	s.fold(ended("a", task.Completed))
	if s.Tasks["a"].Record().Submit.Task.Uploads != nil {
		t.Error("a task that is over names uploads")
	}
	if used := s.Uploads[task.UploadKey{User: "ann", Sum: "x"}].Used; !used.Equal(s.Time) {
		t.Errorf("last used at %s, want %s, the end of the task", used, s.Time)
	}
	due := task.DeleteUploads{Uploads: []task.UploadKey{{User: "ann", Sum: "x"}, {User: "eve", Sum: "x"}}, Then: s.Time}
	for then, want := range map[time.Time][]task.UploadKey{s.Time: due.Uploads[:1], s.Time.Add(-time.Second): nil} {
		if idle := s.IdleUploads(then, after, 10); !slices.Equal(idle, want) {
			t.Errorf("idle since %s: %v, want %v", then, idle, want)
		}
	}
	if v, _ := s.fold(task.Command{DeleteUploads: &due}); v.Count != 1 || len(s.Uploads) != 0 {
		t.Errorf("%+v, left: %v", v, s.Uploads)
	}
}
