package natsserver

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLogDeduperRepeatsOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		l := newNATSLogger(slog.New(slog.NewTextHandler(&said, nil)))
		for range 90 {
			l.Errorf("disk %d is broken", 1)
			time.Sleep(time.Second)
		}
		l.Warnf("disk %d is slow", 2)
		l.Errorf("disk %d is broken", 1)
		if got := said.String(); strings.Count(got, "disk 1 is broken") != 3 || strings.Count(got, "\n") != 4 {
			t.Errorf("it said:\n%s", got)
		}
	})
}
