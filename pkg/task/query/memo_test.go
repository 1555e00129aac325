package query

import (
	"errors"
	"strings"
	"testing"
)

func TestMemoParsesAQueryOnce(t *testing.T) {
	var m Memo
	parsed := 0
	parse := func() (Tasks, error) { parsed++; return Tasks{Limit: parsed}, nil }
	for _, want := range []int{1, 1} {
		if q, err := m.Parse([]byte("limit=1"), parse); err != nil || q.Limit != want {
			t.Errorf("got %+v, %v, want the parameters of parse %d", q, err, want)
		}
	}
	if q, _ := m.Parse([]byte("limit=2"), parse); q.Limit != 2 {
		t.Errorf("another query has the parameters of parse %d", q.Limit)
	}
}

func TestInvalidAndLongQueriesAreNotRemembered(t *testing.T) {
	var m Memo
	long := []byte(strings.Repeat("x", maxMemoSize+1))
	for _, raw := range [][]byte{[]byte("limit=x"), long} {
		for range 2 {
			called := false
			_, _ = m.Parse(raw, func() (Tasks, error) {
				called = true
				if len(raw) > maxMemoSize {
					return Tasks{}, nil
				}
				return Tasks{}, errors.New("no number")
			})
			if !called {
				t.Errorf("a query of %d bytes is remembered", len(raw))
			}
		}
	}
}

func TestMemoIsBounded(t *testing.T) {
	var m Memo
	for i := range 3 * maxMemos {
		_, _ = m.Parse([]byte(strings.Repeat("a", i%maxMemoSize)+string(rune('a'+i%7))), func() (Tasks, error) { return Tasks{}, nil })
		if len(m.all) > maxMemos {
			t.Fatalf("%d queries are remembered", len(m.all))
		}
	}
}
