// Command vuln scans the modules of this repository with a vulnerability database in the
// format of vuln.go.dev. Its exit code is 1 if a program calls vulnerable code, and 2 if
// the database is unreachable.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/vuln/scan"
)

const (
	defaultDatabase = "https://vuln.go.dev"
	reachTimeout    = 5 * time.Second

	found       = 1 // exit codes
	unreachable = 2
)

// errFound reports vulnerabilities that the scan has printed.
var errFound = errors.New("vulnerable code is called; raise the modules named above, or Go itself")

func main() {
	database := flag.String("db", defaultDatabase, "`URL` of the vulnerability database, https:// or file://")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, *database, flag.Args(), os.Stdout)
	stop()
	os.Exit(code)
}

// run scans the modules in dirs and returns the exit code.
func run(ctx context.Context, database string, dirs []string, out io.Writer) int {
	if err := reach(ctx, database); err != nil {
		fmt.Fprintf(out, "vuln: %v; name another database with VULN_DB=\n", err)
		return unreachable
	}
	code := 0
	for _, dir := range dirs {
		fmt.Fprintf(out, "== %s\n", dir)
		if err := check(ctx, database, dir, out); err != nil {
			fmt.Fprintf(out, "vuln: %s: %v\n", dir, err)
			code = found
		}
	}
	return code
}

// reach returns an error if the database is unreachable, after a short timeout.
func reach(ctx context.Context, database string) error {
	if dir, ok := strings.CutPrefix(database, "file://"); ok {
		if _, err := os.Stat(filepath.Join(dir, "index", "modules.json")); err != nil {
			return fmt.Errorf("read the vulnerability database: %w", err)
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(database, "/")+"/index/db.json.gz", nil)
	if err != nil {
		return fmt.Errorf("read the vulnerability database: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("read the vulnerability database: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("read the vulnerability database: %s: %s", request.URL, response.Status)
	}
	return nil
}

// check scans the module in dir. It first searches for imports of vulnerable packages,
// which takes seconds. Only if there are any, it searches for calls of vulnerable
// functions, which takes minutes.
func check(ctx context.Context, database, dir string, out io.Writer) error {
	err := scanAt(ctx, "package", database, dir, io.Discard)
	if errors.Is(err, errFound) {
		return scanAt(ctx, "symbol", database, dir, out)
	}
	if err == nil {
		fmt.Fprintln(out, "no vulnerable package is imported")
	}
	return err
}

func scanAt(ctx context.Context, level, database, dir string, out io.Writer) error {
	var said strings.Builder
	cmd := scan.Command(ctx, "-C", dir, "-db", database, "-scan", level, "./...")
	cmd.Stdout, cmd.Stderr = io.MultiWriter(out, &said), &said
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("scan: %w", err)
	}
	err := cmd.Wait()
	var exit interface{ ExitCode() int }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.ExitCode() == 3: // the exit code of govulncheck for vulnerabilities
		return errFound
	}
	return fmt.Errorf("scan: %w\n%s", err, said.String())
}
