//go:build !unix

package tty

import "os"

// changes returns a channel without values: this system does not report changes.
func changes() (changed <-chan os.Signal, stop func()) { return nil, func() {} }
