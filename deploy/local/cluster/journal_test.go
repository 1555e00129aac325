package cluster

import (
	"context"
	"errors"
	"slices"
	"testing"
)

func TestAJournalIsReadFromItsBeginningToItsEnd(t *testing.T) {
	var j journal
	j.add("one")
	var seen []string
	err := j.follow(t.Context(), func(line string) error {
		seen = append(seen, line)
		switch line { // the rest happens while somebody reads
		case "one":
			j.add("two")
		case "two":
			j.end(errors.New("no luck"))
		}
		return nil
	})
	if !slices.Equal(seen, []string{"one", "two"}) || err == nil || err.Error() != "no luck" {
		t.Errorf("follow = %q, %v", seen, err)
	}
}

func TestAReaderMayLeave(t *testing.T) {
	var j journal
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.follow(ctx, func(string) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("follow = %v, want context.Canceled", err)
	}
}
