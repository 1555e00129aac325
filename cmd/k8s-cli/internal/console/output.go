package console

import "io"

// An Output is a writer that records the first failed write, so that a command whose
// result was lost does not exit with 0.
type Output struct {
	w   io.Writer
	err error
}

// NewOutput returns an output to w.
func NewOutput(w io.Writer) *Output { return &Output{w: w} }

func (o *Output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if o.err == nil && err != nil {
		o.err = err
	}
	return n, err
}

// Err returns the error of the first write that failed.
func (o *Output) Err() error { return o.err }
