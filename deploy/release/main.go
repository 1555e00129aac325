// Command release writes a release into one directory: an archive of each program for
// each platform, the wheels of the Python client, the Helm chart, SPDX lists of the programs'
// modules, and checksums. Builds are reproducible: the same commit gives the same bytes on
// every machine. The bytes of the wheels also depend on the version of zlib in Python.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

// A request holds the command line.
type request struct {
	source    string // the checkout
	out       string // directory of the release; must be empty or absent
	helm      string // path of helm; empty for no chart
	image     string // repository of the server's image, for the chart; empty for the chart's own
	platforms string // system/machine, separated by commas
	programs  string // separated by commas
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var r request
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&r.source, "source", "../..", "build the checkout in this `directory`")
	flags.StringVar(&r.out, "out", "", "write the release to this `directory`, which is empty or does not exist")
	flags.StringVar(&r.helm, "helm", "", "package the chart with this `program` (default: no chart)")
	flags.StringVar(&r.image, "image", "", "`repository` of the server's image, which the chart installs with the tag v and the version (default: that of the chart)")
	flags.StringVar(&r.platforms, "platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64", "build for these, with commas between them")
	flags.StringVar(&r.programs, "programs", "k8s-cli,k8s-cli-server", "build these, with commas between them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if r.out == "" || flags.NArg() > 0 {
		return errors.New("usage: release --out DIRECTORY [flags]; see --help")
	}
	return r.release(ctx)
}

// release writes all files of the release.
func (r request) release(ctx context.Context) error {
	from, err := r.origin(ctx)
	if err != nil {
		return err
	}
	if r.out, err = filepath.Abs(r.out); err != nil {
		return err
	}
	if entries, err := os.ReadDir(r.out); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty; remove it, or choose another directory with --out", r.out)
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	for name := range strings.SplitSeq(r.programs, ",") {
		if err := r.archives(ctx, name, from); err != nil {
			return err
		}
	}
	if err := r.wheel(ctx, from); err != nil {
		return err
	}
	if r.helm != "" {
		if err := r.chart(ctx, from); err != nil {
			return err
		}
	}
	if err := checksums(r.out, "k8s-cli_"+from.version+"_checksums.txt"); err != nil {
		return err
	}
	fmt.Printf("%s: k8s-cli %s\n", r.out, from.version)
	return nil
}
