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

// burial is a read-write lock: Reap holds the write lock while it reaps zombies, and Run
// holds the read lock while it waits for a command, so that Reap does not reap that
// command.
var burial sync.RWMutex

// Run runs a command to its end and returns the output. While Reap runs, start commands
// only with Run, because Reap would reap other commands before their caller can wait for
// them.
func Run(cmd *exec.Cmd) (output []byte, err error) {
	burial.RLock()
	defer burial.RUnlock()
	return cmd.CombinedOutput()
}

// Reap reaps the orphans of the process namespace, which is the duty of the first process:
// shims outlive the containerd that started them. Reap leaves the children that mine
// reports, and the children of Run, to the goroutines that wait for them.
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

// zombies returns the exited children of this process.
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

// zombieOf parses a line of /proc/PID/stat. The name of a program may contain any
// character, so zombieOf parses the text after the last parenthesis.
func zombieOf(parent int, stat string) (pid int, ok bool) {
	pid, err := strconv.Atoi(strings.SplitN(stat, " ", 2)[0])
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	return pid, len(fields) > 1 && fields[0] == "Z" && fields[1] == fmt.Sprint(parent)
}

// Children maps the process ids of the children of a process in their own namespace to the
// process ids in this namespace.
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

// childOf parses a file /proc/PID/status.
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
		case "NSpid": // process ids, from the outermost namespace to the innermost
			outer, _ = strconv.Atoi(numbers[0])
			inner, _ = strconv.Atoi(numbers[len(numbers)-1])
		}
	}
	return inner, outer, ok
}
