package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// hiddenVariable is the number of the file with the hidden variables.
const hiddenVariable = "K8S_CLI_HIDDEN"

// hide removes the credentials from the environment of the process, which other programs can read in
// /proc, and returns a function that returns all variables. The task may replace a directory by a
// symbolic link to /proc/self while the program opens a file below the directory; then the environment
// would be sent to a bucket of the task. To change the environment in /proc, hide executes the program
// again, with the credentials in a file in memory.
func hide(p *plan) (getenv func(string) string, err error) {
	if fd := os.Getenv(hiddenVariable); fd != "" {
		return readHidden(fd)
	}
	hidden := map[string]string{}
	for _, b := range p.Buckets {
		for _, name := range b.credentialNames() {
			if value, set := os.LookupEnv(name); set {
				hidden[name] = value
			}
		}
	}
	if len(hidden) == 0 {
		return os.Getenv, nil
	}
	raw, err := json.Marshal(hidden)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("variables", 0)
	if err != nil {
		return nil, fmt.Errorf("create a file in memory: %w", err)
	}
	if _, err := syscall.Pwrite(fd, raw, 0); err != nil {
		return nil, fmt.Errorf("write a file in memory: %w", err)
	}
	env := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		_, found := hidden[name]
		return found
	})
	return nil, syscall.Exec("/proc/self/exe", os.Args, append(env, hiddenVariable+"="+strconv.Itoa(fd)))
}

// readHidden reads the file with the hidden variables, and closes the file.
func readHidden(number string) (getenv func(string) string, err error) {
	fd, err := strconv.Atoi(number)
	if err != nil {
		return nil, fmt.Errorf("%s is not a number: %w", hiddenVariable, err)
	}
	file := os.NewFile(uintptr(fd), "variables")
	defer file.Close()
	var hidden map[string]string
	if err := json.NewDecoder(file).Decode(&hidden); err != nil {
		return nil, fmt.Errorf("read the hidden variables: %w", err)
	}
	return func(name string) string {
		if value, found := hidden[name]; found {
			return value
		}
		return os.Getenv(name)
	}, nil
}
