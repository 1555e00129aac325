package main

import "os"

// slack is the least that may pile up before the garbage collector runs. By
// itself it runs when as much was allocated as is in use, which for a server
// that holds a few tasks only, and takes thousands of requests a second, means
// all the time.
const slack = 128 << 20 // bytes

// newBallast counts as used for as long as it is kept, and since it is never
// touched it takes no memory of the machine. There is none where GOGC says how
// often the collector shall run; GOMEMLIMIT bounds it in any case.
func newBallast() []byte {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	return make([]byte, slack)
}
