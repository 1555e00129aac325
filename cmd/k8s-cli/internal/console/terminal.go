package console

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/term"

	"k8s-cli/pkg/exec"
)

// A Terminal is the terminal that the standard input of the process is. A command that runs elsewhere
// may take it over.
type Terminal struct{ in *os.File }

// TerminalOf returns the terminal that in is, or nil.
func TerminalOf(in *os.File) *Terminal {
	if !term.IsTerminal(int(in.Fd())) {
		return nil
	}
	return &Terminal{in}
}

// Raw makes the terminal pass on each key, also Ctrl-C, and show nothing by itself. The caller
// calls restore at the end.
func (t *Terminal) Raw() (restore func(), err error) {
	before, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("prepare the terminal: %w", err)
	}
	return func() { _ = term.Restore(int(t.in.Fd()), before) }, nil
}

// Sizes returns a channel with the size of the terminal, and with the new size after each change
// until ctx ends.
func (t *Terminal) Sizes(ctx context.Context) <-chan exec.Size {
	sizes := make(chan exec.Size)
	changed, stop := resizes()
	go func() {
		defer stop()
		for {
			width, height, err := term.GetSize(int(t.in.Fd()))
			if err == nil {
				select {
				case sizes <- exec.Size{Width: uint16(width), Height: uint16(height)}:
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return sizes
}
