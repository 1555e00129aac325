package streams

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestOutageLoggerReportsOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		o := NewOutageLogger(slog.New(slog.NewTextHandler(&said, nil)), "nothing works", "all works")
		for round := range 2 {
			o.Recovered()
			for range 150 {
				o.Failed(errors.New("broken"))
				time.Sleep(time.Second)
			}
			o.Recovered()
			o.Recovered()
			lines := strings.Split(strings.TrimSpace(said.String()), "\n")[4*round:]
			for i, want := range []string{
				`level=WARN msg="nothing works" err=broken for=0s`, "for=1m0s", "for=2m0s",
				`level=INFO msg="all works" after=2m30s`,
			} {
				if len(lines) != 4 || !strings.Contains(lines[i], want) {
					t.Fatalf("it said %q, want four lines, of which line %d has %q", lines, i, want)
				}
			}
		}
	})
}
