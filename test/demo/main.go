// Command demo records a session of k8s-cli in a terminal of 80x24 characters, and draws the
// recording as an animated SVG. A bash in a pseudo terminal runs the commands of the session
// against a real server. The recording is in the format of asciinema.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"
)

const (
	title = "A terminal session with k8s-cli"

	longestPause = 2 * time.Second       // in the recording
	frame        = 20 * time.Millisecond // the shortest time between two changes in the recording
)

// A request holds the command line.
type request struct {
	bin   string        // directory of k8s-cli
	out   string        // path of the files, without suffix
	url   string        // of the server; empty to draw an existing recording
	key   time.Duration // between two characters
	limit time.Duration
}

func main() {
	var r request
	flag.StringVar(&r.bin, "bin", "bin", "`directory` of k8s-cli")
	flag.StringVar(&r.out, "out", "docs/images/demo", "write the recording to this `path` with .cast and .svg")
	flag.StringVar(&r.url, "url", "", "`URL` of the server; without it, draw the existing recording")
	flag.DurationVar(&r.key, "key", 35*time.Millisecond, "time between two characters that are typed")
	flag.DurationVar(&r.limit, "limit", 5*time.Minute, "time limit of the session")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := r.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func (r request) run(ctx context.Context) error {
	if r.url != "" {
		if err := r.record(ctx); err != nil {
			return err
		}
	}
	cast, err := os.ReadFile(r.out + ".cast")
	if err != nil {
		return err
	}
	svg, err := draw(cast)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d bytes\n", r.out+".svg", len(svg))
	return os.WriteFile(r.out+".svg", svg, 0o644)
}

// draw returns the SVG of a recording.
func draw(cast []byte) ([]byte, error) {
	title, events, err := decodeCast(cast)
	if err != nil {
		return nil, err
	}
	f, err := filmOf(events)
	if err != nil {
		return nil, err
	}
	return svgOf(title, f), nil
}

// record runs the session as a new user and writes the recording.
func (r request) record(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	bin, err := filepath.Abs(r.bin)
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "k8s-cli-demo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(home) }() // if RemoveAll fails, the directory remains among the temporary files
	env := []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8", "K8S_CLI_API_URL=" + r.url, "K8S_CLI_INSECURE_HTTP=" + os.Getenv("K8S_CLI_INSECURE_HTTP"), "API_TOKEN=opensesame",
	}
	login := exec.CommandContext(ctx, filepath.Join(bin, "k8s-cli"), "auth", "login", fmt.Sprintf("ann@%x.example.com", time.Now().Unix()))
	login.Env = env
	if out, err := login.CombinedOutput(); err != nil {
		return fmt.Errorf("log in: %w: %s", err, out)
	}
	s, err := startShell(ctx, ".", env)
	if err != nil {
		return err
	}
	err = play(ctx, s, session, pace{key: r.key, before: 30 * r.key, enter: 6 * r.key})
	events := s.close()
	if err != nil {
		return err
	}
	cast, err := encodeCast(title, shorten(events, longestPause, frame))
	if err != nil {
		return err
	}
	return os.WriteFile(r.out+".cast", cast, 0o644)
}
