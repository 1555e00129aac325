package natsserver

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const repeatInterval = time.Minute // between two equal log lines

// A natsLogger passes the log messages of the embedded server to operators. The natsLogger
// drops repeated messages, because a server with a broken store logs the same message for
// every command.
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

// A logDeduper holds the last message. The zero logDeduper is ready to use.
type logDeduper struct {
	mu   sync.Mutex
	text string
	at   time.Time
}

// isRepeat reports whether text equals the last message and repeatInterval has not passed.
func (d *logDeduper) isRepeat(text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if text == d.text && time.Since(d.at) < repeatInterval {
		return true
	}
	d.text, d.at = text, time.Now()
	return false
}
