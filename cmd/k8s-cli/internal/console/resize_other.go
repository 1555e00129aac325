//go:build !unix

package console

import "os"

// resizes returns a channel without values: this system does not report changes.
func resizes() (changed <-chan os.Signal, stop func()) { return nil, func() {} }
