//go:build crashpoints

package crash

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// The environment names a point, and at its how manyth passing it happens:
// K8S_CLI_CRASH=after-create-job:2. Without a number it is the first.
const (
	envEnd  = "K8S_CLI_CRASH" // the process ends, by SIGKILL
	envStop = "K8S_CLI_PAUSE" // it sleeps, by SIGSTOP, until SIGCONT comes
	envFail = "K8S_CLI_PANIC" // it panics there, and has to live on
)

var (
	passings = map[string]int{}
	counting sync.Mutex
)

// Before is the point before a step.
func Before(s Step) { pass("before-" + string(s)) }

// After is the point after a step.
func After(s Step) { pass("after-" + string(s)) }

// Append returns the step of a command: AppendSubmit for one whose field Submit
// is set, and so on.
func Append(command any) Step {
	fields := reflect.ValueOf(command)
	for i := range fields.NumField() {
		if !fields.Field(i).IsNil() {
			name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
			return Step("append-" + strings.ReplaceAll(name, "_", "-"))
		}
	}
	return "append-nothing"
}

func pass(point string) {
	counting.Lock()
	passings[point]++
	here := fmt.Sprintf("%s:%d", point, passings[point])
	counting.Unlock()
	if wanted(envEnd, here) {
		raise(here, syscall.SIGKILL)
	}
	if wanted(envStop, here) {
		raise(here, syscall.SIGSTOP)
	}
	if wanted(envFail, here) {
		panic("crash point " + here)
	}
}

func wanted(variable, here string) bool {
	point := os.Getenv(variable)
	if point != "" && !strings.Contains(point, ":") {
		point += ":1"
	}
	return point == here
}

// raise sends a signal to this very thread, so that it goes no further before
// the signal has come.
func raise(here string, s syscall.Signal) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fmt.Fprintf(os.Stderr, "reached crash point %s: %s\n", here, s)
	_ = syscall.Tgkill(syscall.Getpid(), syscall.Gettid(), s)
}
