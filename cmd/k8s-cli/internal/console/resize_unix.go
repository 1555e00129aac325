//go:build unix

package console

import (
	"os"
	"os/signal"
	"syscall"
)

// resizes returns a channel that receives a value after the size of the terminal has changed.
func resizes() (changed <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	return signals, func() { signal.Stop(signals) }
}
