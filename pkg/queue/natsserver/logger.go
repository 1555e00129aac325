package natsserver

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const repeatInterval = time.Minute // between two lines that say the same

// A natsLogger passes on what the embedded server has to say to operators. Of a
// store that is broken it says the same with every command.
type natsLogger struct {
	log   *slog.Logger
	dedup *logDeduper
}

func newNATSLogger(log *slog.Logger) natsLogger { return natsLogger{log, &logDeduper{}} }

func (l natsLogger) write(level slog.Level, format string, v []any) {
	text := "nats: " + fmt.Sprintf(format, v...)
	if level < slog.LevelWarn || !l.dedup.isRepeat(text) {
		l.log.Log(context.Background(), level, text)
	}
}

func (l natsLogger) Noticef(format string, v ...any) { l.write(slog.LevelDebug, format, v) }
func (l natsLogger) Warnf(format string, v ...any)   { l.write(slog.LevelWarn, format, v) }
func (l natsLogger) Errorf(format string, v ...any)  { l.write(slog.LevelError, format, v) }
func (l natsLogger) Fatalf(format string, v ...any)  { l.write(slog.LevelError, format, v) }
func (l natsLogger) Debugf(string, ...any)           {}
func (l natsLogger) Tracef(string, ...any)           {}

// A logDeduper knows what was said last. The zero logDeduper is ready to use.
type logDeduper struct {
	mu   sync.Mutex
	text string
	at   time.Time
}

// isRepeat reports whether text was said just before.
func (e *logDeduper) isRepeat(text string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if text == e.text && time.Since(e.at) < repeatInterval {
		return true
	}
	e.text, e.at = text, time.Now()
	return false
}
