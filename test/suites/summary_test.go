package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
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
			s := newSummary(&out)
			for line := range strings.Lines(tt.events) {
				s.read([]byte(line))
			}
			ok := s.close()
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if last := lines[len(lines)-1]; last != tt.last || ok != tt.ok {
				t.Errorf("last line %q, ok %v; want %q, %v", last, ok, tt.last, tt.ok)
			}
		})
	}
}

func TestSkipsNameTheirReason(t *testing.T) {
	var out bytes.Buffer
	s := newSummary(&out)
	s.read([]byte(`{"Action":"output","Package":"p","Test":"B","Output":"    b_test.go:7: there is no cluster\n"}`))
	s.read([]byte(`{"Action":"skip","Package":"p","Test":"B"}`))
	s.close()
	if want := "skipped: B (there is no cluster)"; !strings.Contains(out.String(), want) {
		t.Errorf("%q lacks %q", out.String(), want)
	}
}

func TestFailuresAreRepeatedAtTheEnd(t *testing.T) {
	var out bytes.Buffer
	s := newSummary(&out)
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
	want := "failed: p B\n    b_test.go:7: got 1, want 2\nfailed: p\npanic: nil map\ngoroutine 7 [running]:\nran: nothing; skipped: nothing\n0 passed, 2 failed"
	if !strings.Contains(out.String(), want) {
		t.Errorf("%q lacks %q", out.String(), want)
	}
}

func TestFailuresSayHowToRunTheTestAgain(t *testing.T) {
	for step, want := range map[string]string{
		"gate-unit":     `go test -race -run '^TestB$/^c$' ./pkg/p`,
		"gate-features": `make test-features RUN='^TestB$$/^c$$'`,
		"crash":         `make test-crash RUN='^TestB$$/^c$$'`,
	} {
		t.Run(step, func(t *testing.T) {
			var out bytes.Buffer
			s := newSummary(&out)
			s.begin(step)
			s.read([]byte(`{"Action":"output","Package":"k8s-cli/pkg/p","Test":"TestB/c","Output":"    b_test.go:7: got 1, want 2\n"}`))
			s.read([]byte(`{"Action":"fail","Package":"k8s-cli/pkg/p","Test":"TestB/c"}`))
			if want := "    b_test.go:7: got 1, want 2\n    Run the test again: " + want + "\n"; !strings.Contains(out.String(), want) {
				t.Errorf("%q lacks %q", out.String(), want)
			}
		})
	}
}

func TestSlowTestsAndTimesOfSteps(t *testing.T) {
	var out bytes.Buffer
	s := newSummary(&out)
	s.begin("unit")
	s.read([]byte(`{"Action":"pass","Package":"k8s-cli/pkg/p","Test":"A","Elapsed":1.5}`))
	s.read([]byte(`{"Action":"pass","Package":"k8s-cli/pkg/p","Test":"B","Elapsed":2.5}`))
	s.read([]byte(`{"Action":"pass","Package":"k8s-cli/pkg/p","Elapsed":4}`))
	s.end(62*time.Second, 124*time.Second)
	s.before("crash")
	if !s.close() {
		t.Error("the run failed")
	}
	for _, want := range []string{
		"     2.5  pkg/p B\n     1.5  pkg/p A\n", "     4.0  pkg/p\n", "unit                 1:02       2:04      2\n",
		"passed before on the same files (FORCE=1 runs them again): crash\n", "2 passed, 0 failed, 0 skipped\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\nlacks %q", out.String(), want)
		}
	}
}
