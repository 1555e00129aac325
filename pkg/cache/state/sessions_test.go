package state

import (
	"fmt"
	"testing"
	"time"

	"k8s-cli/pkg/task"
)

func endSession(user, id string, until time.Time) task.Command {
	return task.Command{EndSessions: &task.EndSessions{User: user, ID: id, Until: until}}
}

func TestEndedSessions(t *testing.T) {
	s := newTestState(t, endSession("ann", "1", noon.Add(time.Hour)))
	began := s.Seq
	for _, tt := range []struct {
		user, id string
		ended    bool
	}{{"ann", "1", true}, {"ann", "2", false}, {"bob", "1", false}} {
		if got := s.SessionEnded(tt.user, tt.id, 0); got != tt.ended {
			t.Errorf("session %s of %s: ended %v, want %v", tt.id, tt.user, got, tt.ended)
		}
	}
	s.fold(endSession("ann", "", noon.Add(time.Hour)))
	if !s.SessionEnded("ann", "2", began) || s.SessionEnded("ann", "3", s.Seq) || s.SessionEnded("bob", "2", began) {
		t.Error("all sessions of ann that began earlier must be over, and no other")
	}
	if !s.SessionEnded("ann", "1", 0) {
		t.Error("a session became valid again")
	}
}

func TestEndedSessionsAreForgottenWhenTheyExpire(t *testing.T) {
	s := newTestState(t, endSession("ann", "1", noon.Add(10*time.Second)), endSession("bob", "2", noon.Add(1000*time.Hour)))
	for s.Time.Before(noon.Add(10 * time.Second)) {
		s.fold(stop("x", "y"))
	}
	s.fold(endSession("eve", "3", noon.Add(time.Hour)))
	if len(s.over) != 2 || s.SessionEnded("ann", "1", 0) {
		t.Errorf("remembered: %v", s.over)
	}
	if until := s.over[endedKey{"bob", "2"}].until; until.After(noon.Add(longestSession + time.Minute)) {
		t.Errorf("a session is remembered until %s", until)
	}
}

// One user can neither fill the list nor lose the effect of a logout.
func TestManyEndedSessionsOfOneUser(t *testing.T) {
	s := newTestState(t)
	for i := range 3 * endedPerUser {
		s.fold(endSession("ann", fmt.Sprint(i), noon.Add(time.Hour)))
		if len(s.over) > endedPerUser+1 {
			t.Fatalf("%d are remembered", len(s.over))
		}
		for j := range i + 1 {
			if !s.SessionEnded("ann", fmt.Sprint(j), 0) {
				t.Fatalf("after %d, session %d is valid again", i, j)
			}
		}
	}
}

func TestEndedSessionsOfAllUsersAreBounded(t *testing.T) {
	s := newTestState(t)
	for i := range maxEnded {
		s.over[endedKey{fmt.Sprint(i), "1"}] = endedSessions{1, noon.Add(time.Hour)}
	}
	if result, _ := s.fold(endSession("ann", "1", noon.Add(time.Hour))); result.Rejection != task.RejectedTooMany || len(s.over) != maxEnded {
		t.Errorf("%+v with %d", result, len(s.over))
	}
	delete(s.over, endedKey{"8", "1"})
	delete(s.over, endedKey{"9", "1"})
	s.over[endedKey{"10", "1"}] = endedSessions{1, noon.Add(time.Hour)}
	s.over[endedKey{"bob", "1"}] = endedSessions{1, noon.Add(time.Hour)}
	s.over[endedKey{"bob", "3"}] = endedSessions{1, noon.Add(time.Hour)}
	if result, _ := s.fold(endSession("ann", "1", noon.Add(time.Hour))); result.Rejection != "" || !s.SessionEnded("ann", "1", 0) || !s.SessionEnded("bob", "1", 0) || !s.SessionEnded("bob", "4", 0) {
		t.Errorf("when another user has ended several sessions: %+v", result)
	}
	if result, _ := s.fold(endSession("7", "", noon.Add(time.Hour))); result.Rejection != "" || !s.SessionEnded("7", "2", 0) {
		t.Errorf("all sessions of one user: %+v", result)
	}
}
