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

// Each variable of the environment names a crash point and the number of the call at which
// the effect happens, for example K8S_CLI_CRASH=after-create-job:2. Without a number, the
// effect happens at the first call.
const (
	envEnd  = "K8S_CLI_CRASH" // the process ends by SIGKILL
	envStop = "K8S_CLI_PAUSE" // the process stops by SIGSTOP, until SIGCONT
	envFail = "K8S_CLI_PANIC" // the goroutine panics; the process must recover
)

var (
	passings = map[string]int{}
	counting sync.Mutex
)

// Before is the crash point before a step.
func Before(s Step) { pass("before-" + string(s)) }

// After is the crash point after a step.
func After(s Step) { pass("after-" + string(s)) }

// Append returns the step that appends a command or a fact: AppendSubmit if the field
// Submit is set, and so on.
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

// raise sends a signal to the current thread. A signal to the process could reach another
// thread, and this thread would run on until then.
func raise(here string, s syscall.Signal) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fmt.Fprintf(os.Stderr, "reached crash point %s: %s\n", here, s)
	_ = syscall.Tgkill(syscall.Getpid(), syscall.Gettid(), s)
}
