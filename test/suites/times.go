package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"time"
)

// settleTimes gives each file that does not differ from the index of git a time that depends on the
// history and on the content of the file alone, and each directory the time of its youngest file.
// The test cache of Go compares the times of the files that a test reads, not their content, and in
// a new clone every file is new.
func settleTimes() error {
	changed, err := lines("git", "ls-files", "-z", "--modified", "--deleted")
	if err != nil {
		return err
	}
	differs := map[string]bool{}
	for _, file := range changed {
		differs[file] = true
	}
	seconds, err := commitTimes()
	if err != nil {
		return err
	}
	staged, err := lines("git", "ls-files", "-z", "--stage") // "MODE HASH STAGE\tFILE"
	if err != nil {
		return err
	}
	dirs := map[string]time.Time{}
	for _, line := range staged {
		about, file, _ := strings.Cut(line, "\t")
		fields := strings.Fields(about)
		if differs[file] || len(fields) != 3 || !strings.HasPrefix(fields[0], "100") || seconds[file] == 0 { // 100: a regular file
			continue
		}
		content, err := strconv.ParseInt(fields[1][:7], 16, 64)
		if err != nil {
			return fmt.Errorf("hash of %s: %w", file, err)
		}
		at := time.Unix(seconds[file], content)
		if err := os.Chtimes(file, at, at); err != nil {
			return err
		}
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			if dirs[dir].Before(at) {
				dirs[dir] = at
			}
		}
	}
	for dir, at := range dirs {
		if err := os.Chtimes(dir, at, at); err != nil {
			return err
		}
	}
	return nil
}

// commitTimes returns the time of the last commit that changed each file, in seconds since 1970.
func commitTimes() (map[string]int64, error) {
	const mark = "commit "
	out, err := exec.Command("git", "-c", "core.quotePath=false", "log", "--no-renames", "--name-only", "--format="+mark+"%ct").Output()
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	all, now := map[string]int64{}, int64(0)
	for line := range bytes.Lines(out) {
		file := strings.TrimSuffix(string(line), "\n")
		if at, ok := strings.CutPrefix(file, mark); ok {
			if now, err = strconv.ParseInt(at, 10, 64); err != nil {
				return nil, fmt.Errorf("read the history: %w", err)
			}
			continue
		}
		if file != "" && all[file] == 0 {
			all[file] = now
		}
	}
	return all, nil
}
