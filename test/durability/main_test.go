// Package durability tests what disks do to a server with an embedded log: a power cut, a
// disk that other programs fill, a disk that fails. The tests run the real program on loop
// devices, which requires root and an API server. Without these the tests are skipped and
// say what is missing.
package durability

import (
	"net/http"
	"testing"
	"time"

	"k8s-cli/test/testkit"
)

// patience is how long a test waits for an expected state.
const patience = 5 * time.Minute

// eventually waits until check is satisfied. The state appears in the error.
func eventually(t *testing.T, what string, check func() (state string, ok bool)) {
	t.Helper()
	testkit.Eventually(t, patience, what, check)
}

// web sends requests to the servers. The timeout of web ends requests to a server that hangs.
var web = &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
