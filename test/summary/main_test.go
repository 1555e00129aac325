package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestSummary(t *testing.T) {
	for _, tt := range []struct {
		name, events, last string
		ok                 bool
	}{
		{"a pass", `{"Action":"pass","Package":"p","Test":"A"}`, "1 passed, 0 failed, 0 skipped", true},
		{"a failure", `{"Action":"pass","Package":"p","Test":"A"}` + "\n" + `{"Action":"fail","Package":"p","Test":"B"}`, "1 passed, 1 failed, 0 skipped", false},
		{"a package that does not build", `{"Action":"pass","Package":"p","Test":"A"}` + "\n" + `{"Action":"fail","Package":"q"}`, "1 passed, 1 failed, 0 skipped", false},
		{"nothing ran", `{"Action":"pass","Package":"p"}`, "0 passed, 0 failed, 0 skipped", false},
		{"a skip", `{"Action":"pass","Package":"p","Test":"A"}` + "\n" + `{"Action":"skip","Package":"p","Test":"B"}`, "1 passed, 0 failed, 1 skipped", true},
		{"a test with others below it counts by those", `{"Action":"run","Package":"p","Test":"A/x"}` + "\n" + `{"Action":"pass","Package":"p","Test":"A/x"}` + "\n" + `{"Action":"pass","Package":"p","Test":"A"}`, "1 passed, 0 failed, 0 skipped", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			s := newSummary(&out, nil)
			for line := range strings.Lines(tt.events) {
				s.read([]byte(line))
			}
			ok := s.close()
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if last := lines[len(lines)-2]; last != tt.last || ok != tt.ok {
				t.Errorf("line before the last %q, ok %v; want %q, %v", last, ok, tt.last, tt.ok)
			}
		})
	}
}

func TestSkipsNameTheirReason(t *testing.T) {
	var out bytes.Buffer
	s := newSummary(&out, nil)
	s.read([]byte(`{"Action":"output","Package":"p","Test":"B","Output":"    b_test.go:7: there is no cluster\n"}`))
	s.read([]byte(`{"Action":"skip","Package":"p","Test":"B"}`))
	s.close()
	if want := "skipped: B (there is no cluster)"; !strings.Contains(out.String(), want) {
		t.Errorf("%q lacks %q", out.String(), want)
	}
}

func TestFailuresAreRepeatedAtTheEnd(t *testing.T) {
	var out bytes.Buffer
	s := newSummary(&out, nil)
	for _, line := range []string{
		`{"Action":"output","Package":"p","Test":"B","Output":"level=INFO msg=hello\n"}`,
		`{"Action":"output","Package":"p","Test":"B","Output":"    b_test.go:7: got 1, want 2\n"}`,
		`{"Action":"fail","Package":"p","Test":"B"}`,
		`{"Action":"output","Package":"p","Output":"panic: nil map\n"}`,
		`{"Action":"output","Package":"p","Output":"goroutine 7 [running]:\n"}`,
		`{"Action":"fail","Package":"p"}`,
	} {
		s.read([]byte(line))
	}
	s.close()
	want := "failed: p B\n    b_test.go:7: got 1, want 2\nfailed: p\npanic: nil map\ngoroutine 7 [running]:\n0 passed, 2 failed"
	if !strings.Contains(out.String(), want) {
		t.Errorf("%q lacks %q", out.String(), want)
	}
}
