package task

import (
	"errors"
	"strings"
	"testing"
)

func TestErrorsOfUnknownIDs(t *testing.T) {
	for err, want := range map[error]string{
		ErrNoTask("ab12cd34"):                "Task ab12cd34 not found",
		ErrNoVolume("1a2b3c4d"):              "Volume 1a2b3c4d not found",
		ErrNoTask(strings.Repeat("a", 63)):   "Task " + strings.Repeat("a", 63) + " not found",
		ErrNoVolume(strings.Repeat("a", 64)): "Volume " + strings.Repeat("a", 63) + "... not found",
	} {
		if err.Error() != want || !errors.Is(err, ErrNotFound) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestAnswers(t *testing.T) {
	raw, err := Marshal([]any{
		NewSubmitted("a", nil), NewPreview(nil, []string{"w"}), NewStopResponse("a"), NewStopAllResponse(2, false), NewStopAllResponse(3, true),
		NewCreated("v", nil), NewDeleted("v"), NewUploaded("s", 7),
	})
	const want = `[{"task_id":"a","status":"submitted","message":"Task submitted successfully with ID: a"},` +
		`{"status":"acceptable","message":"Task is valid; nothing was submitted","warnings":["w"],"objects":null},` +
		`{"task_id":"a","status":"stopped","message":"Task a stopped successfully"},` +
		`{"count":2,"status":"stopped","message":"Stopped 2 tasks"},` +
		`{"count":3,"status":"stopped","message":"Stopped 3 tasks for all users"},` +
		`{"volume_id":"v","status":"created","message":"Volume created successfully with ID: v"},` +
		`{"volume_id":"v","status":"deleted","message":"Volume v deleted successfully"},` +
		`{"sha256":"s","size":7,"status":"stored","message":"Upload s stored"}]`
	if err != nil || string(raw) != want {
		t.Errorf("%v\n got %s\nwant %s", err, raw, want)
	}
}
