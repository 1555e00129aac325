// Package crash has servers die, or fall asleep, at every point of package
// pkg/crash: in the middle of a story that has all commands and facts in it.
// Whoever comes next, the same server started again or another one, has to bring
// the story to the end that it would have had.
package crash

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s-cli/test/testkit"
)

// patience is how long a test waits for what has to happen.
const patience = time.Minute

var exhaustive = flag.Bool("exhaustive", false, "pause and take over at as many passings as kill and restart: takes minutes")

func TestMain(m *testing.M) {
	testkit.Parallel("16") // stories mostly wait
	code := m.Run()
	house.close()
	os.Exit(code)
}

// need skips the test where there is no cluster for it.
func need(t *testing.T) {
	t.Helper()
	testkit.Need(t, testkit.EnvKubeconfig, testkit.EnvPrograms)
}

// eventually waits until check is satisfied. The state says how far things are.
func eventually(t *testing.T, what string, check func() (state string, ok bool)) {
	t.Helper()
	testkit.Eventually(t, patience, what, check)
}

func sprint(v any) string { return fmt.Sprintf("%+v", v) }
