//go:build unix

package tty

import (
	"os"
	"os/signal"
	"syscall"
)

// changes returns a channel that receives a value after the size of the terminal has changed.
func changes() (changed <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	return signals, func() { signal.Stop(signals) }
}
