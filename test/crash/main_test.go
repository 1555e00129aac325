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

const (
	patience = 3 * time.Minute        // how long a test waits for an expected state
	pause    = 150 * time.Millisecond // between two looks at the state: many servers share the processors
)

var exhaustive = flag.Bool("exhaustive", false, "end or stop the server at all passings of all points: takes many minutes")

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

// long skips the test with -short.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("the test is long; make test-unit runs it")
	}
}

// eventually waits until check is satisfied. The state appears in the error.
func eventually(t *testing.T, what string, check func() (state string, ok bool)) {
	t.Helper()
	ctx, cancel := testkit.WithPatience(t.Context(), patience)
	defer cancel()
	if err := testkit.UntilEvery(ctx, pause, what, check); err != nil {
		t.Fatal(err)
	}
}

func sprint(v any) string { return fmt.Sprintf("%+v", v) }
