package main

import "os"

// slack is the minimum number of bytes that are allocated between two garbage
// collections. By default Go collects when the heap has doubled. The heap of a server
// with few tasks is small, so that thousands of requests a second would make Go collect
// all the time.
const slack = 128 << 20 // bytes

// newBallast returns memory that counts as part of the heap while the caller holds a
// reference. Nothing writes to the ballast, so that the ballast uses no physical
// memory. newBallast returns nil if GOGC is set, because GOGC then sets the frequency of
// collections. GOMEMLIMIT limits the heap in both cases.
func newBallast() []byte {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	return make([]byte, slack)
}
