package queue

import (
	"context"
	"fmt"
	"log/slog"
)

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
