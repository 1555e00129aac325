package rig

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ticksPerSecond is the unit of processor time in /proc: 100 on every Linux.
const ticksPerSecond = 100

// CPU returns the processor time that all threads of a process have used.
func CPU(pid int) time.Duration {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(raw, []byte(") ")) // the name before may contain spaces
	fields := strings.Fields(string(rest))
	const user, system = 11, 12
	if len(fields) <= system {
		return 0
	}
	u, _ := strconv.Atoi(fields[user])
	s, _ := strconv.Atoi(fields[system])
	return time.Duration(u+s) * time.Second / ticksPerSecond
}

// RSS returns the resident memory of a process in bytes.
func RSS(pid int) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kilobytes, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}

// A Memory is the heap statistics that a program printed with GODEBUG=gctrace=1.
type Memory struct {
	Collections int
	Live        int64 // bytes in use after the last collection
	Allocated   int64 // bytes allocated from the start to the last collection
}

// A trace parses the standard error of such a program. Lines that are not about the heap go
// to a file.
type trace struct {
	mu     sync.Mutex
	file   *os.File
	line   []byte
	memory Memory
}

const forced = "GC forced"

var collection = regexp.MustCompile(`^gc \d+ @.* (\d+)->(\d+)->(\d+) MB, `)

// Write parses the output of the program.
func (t *trace) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line = append(t.line, p...)
	for {
		line, rest, whole := bytes.Cut(t.line, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		if !t.memory.read(string(line)) {
			if _, err := t.file.Write(append(line, '\n')); err != nil {
				return 0, err
			}
		}
		t.line = append([]byte(nil), rest...)
	}
}

// read parses one line and reports whether the line is about the heap.
func (m *Memory) read(line string) bool {
	if line == forced {
		return true // announces a periodic collection; the statistics follow on the next line
	}
	found := collection.FindStringSubmatch(line)
	if found == nil {
		return false
	}
	atEnd, _ := strconv.ParseInt(found[2], 10, 64)
	live, _ := strconv.ParseInt(found[3], 10, 64)
	m.Collections++
	m.Allocated += max(atEnd<<20-m.Live, 0)
	m.Live = live << 20
	return true
}

func (t *trace) now() Memory {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.memory
}

// DirSize returns the total size in bytes of the files below a directory.
func DirSize(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // deleted meanwhile
		}
		if info, err := d.Info(); err == nil && d.Type().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size
}
