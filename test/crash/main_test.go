// Package crash ends or stops servers at every crash point of package pkg/crash, in the
// middle of a scenario that contains all commands and facts. The next server, which is the
// same server restarted or another server, must bring the scenario to its expected end.
package crash

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s-cli/test/testkit"
)

// patience is how long a test waits for an expected state.
const patience = time.Minute

var exhaustive = flag.Bool("exhaustive", false, "pause and take over at as many passings as kill and restart: takes minutes")

func TestMain(m *testing.M) {
	testkit.Parallel("16") // these tests mostly wait
	code := m.Run()
	house.close()
	os.Exit(code)
}

// need skips the test if there is no cluster.
func need(t *testing.T) {
	t.Helper()
	testkit.Need(t, testkit.EnvKubeconfig, testkit.EnvPrograms)
}

// eventually waits until check is satisfied. The state appears in the error.
func eventually(t *testing.T, what string, check func() (state string, ok bool)) {
	t.Helper()
	testkit.Eventually(t, patience, what, check)
}

func sprint(v any) string { return fmt.Sprintf("%+v", v) }
