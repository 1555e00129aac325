// Package durability holds the tests of what a disk may do to a server with the
// log inside the process: lose its power, be filled by others, fail. They run
// the real program on disks of their own, on loop devices, which takes root and
// an API server; without those they are skipped and say what is missing.
package durability

import (
	"net/http"
	"testing"
	"time"

	"k8s-cli/test/testkit"
)

// patience is how long a test waits for what has to happen.
const patience = time.Minute

// eventually waits until check is satisfied. The state says how far things are.
func eventually(t *testing.T, what string, check func() (state string, ok bool)) {
	t.Helper()
	testkit.Eventually(t, patience, what, check)
}

// web asks the servers; its limit is above theirs.
var web = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
