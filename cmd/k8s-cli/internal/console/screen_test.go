package console

import (
	"errors"
	"strings"
	"testing"
)

func TestDrawReplacesTheTextInPlace(t *testing.T) {
	var b strings.Builder
	s := NewScreen(&b)
	for _, tt := range []struct{ text, want string }{
		{"a\nb\n", "\x1b[?25la\x1b[K\r\nb\x1b[K\r\n\x1b[J"},
		{"a\nb\n", ""},
		{"c\n", "\x1b[?25l\x1b[2A\rc\x1b[K\r\n\x1b[J"},
		{"", "\x1b[?25l\x1b[1A\r\x1b[J"},
	} {
		b.Reset()
		if err := s.Draw(tt.text); err != nil || b.String() != tt.want {
			t.Errorf("Draw(%q) wrote %q, %v, want %q", tt.text, b.String(), err, tt.want)
		}
	}
	b.Reset()
	if err := errors.Join(s.Clear(), s.Draw("d\n")); err != nil || b.String() != eraseAll+"\x1b[?25ld\x1b[K\r\n\x1b[J" {
		t.Errorf("after Clear, Draw wrote %q, %v", b.String(), err)
	}
	b.Reset()
	s.Close()
	s.Close()
	if b.String() != showCursor {
		t.Errorf("Close wrote %q", b.String())
	}
}

func TestCloseOfAnUnusedScreenWritesNothing(t *testing.T) {
	var b strings.Builder
	s := NewScreen(&b)
	_ = s.Clear()
	s.Close()
	if b.Len() > 0 {
		t.Errorf("it wrote %q", b.String())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestDrawReportsAFailedWrite(t *testing.T) {
	if err := NewScreen(full{}).Draw("a\n"); err == nil {
		t.Error("no error")
	}
}
