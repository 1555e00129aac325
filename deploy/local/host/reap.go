package host

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// burial is held by Reap while it buries, and shared by commands that Run waits
// for, which nobody else may bury.
var burial sync.RWMutex

// Run runs a command to its end and returns what it wrote. While Reap works, a
// command that is run otherwise may be buried before it can be waited for.
func Run(cmd *exec.Cmd) (output []byte, err error) {
	burial.RLock()
	defer burial.RUnlock()
	return cmd.CombinedOutput()
}

// Reap buries the orphans of the process namespace, whose first process has
// to: shims outlive the containerd that started them. Children that mine
// reports, and those of Run, are left to whoever waits for them.
func Reap(ctx context.Context, mine func(pid int) bool) error {
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, syscall.SIGCHLD)
	defer signal.Stop(deaths)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-deaths:
		}
		bury(mine)
	}
}

func bury(mine func(pid int) bool) {
	burial.Lock()
	defer burial.Unlock()
	for _, pid := range zombies() {
		if !mine(pid) {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// zombies are the dead children of this process.
func zombies() []int {
	var dead []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if pid, ok := zombieOf(os.Getpid(), string(b)); ok {
			dead = append(dead, pid)
		}
	}
	return dead
}

// zombieOf reads a line of /proc/PID/stat. A program's name may hold anything,
// so what counts starts after its last parenthesis.
func zombieOf(parent int, stat string) (pid int, ok bool) {
	pid, err := strconv.Atoi(strings.SplitN(stat, " ", 2)[0])
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	return pid, len(fields) > 1 && fields[0] == "Z" && fields[1] == fmt.Sprint(parent)
}

// Children maps the numbers that the children of a process have in their own
// namespace to the numbers they have here.
func Children(parent int) map[int]int {
	children := map[int]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if inner, outer, ok := childOf(parent, string(b)); ok {
			children[inner] = outer
		}
	}
	return children
}

// childOf reads a file /proc/PID/status.
func childOf(parent int, status string) (inner, outer int, ok bool) {
	ok = false
	for line := range strings.Lines(status) {
		key, value, _ := strings.Cut(line, ":")
		numbers := strings.Fields(value)
		if len(numbers) == 0 {
			continue
		}
		switch key {
		case "PPid":
			ok = numbers[0] == strconv.Itoa(parent)
		case "NSpid": // from the outermost namespace to the innermost
			outer, _ = strconv.Atoi(numbers[0])
			inner, _ = strconv.Atoi(numbers[len(numbers)-1])
		}
	}
	return inner, outer, ok
}
