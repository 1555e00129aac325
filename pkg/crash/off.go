//go:build !crashpoints

package crash

// Before is the crash point before a step. Without the build tag crashpoints, Before does
// nothing.
func Before(Step) {}

// After is the crash point after a step. Without the build tag crashpoints, After does
// nothing.
func After(Step) {}

// Append returns the step that appends a command or a fact: AppendSubmit if the field
// Submit is set, and so on.
func Append(any) Step { return "" }
