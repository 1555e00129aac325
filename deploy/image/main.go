// Command image builds the container images of the product without a container engine. An
// image holds a static program and the certificates of public authorities. Builds are
// reproducible: the same sources give the same bytes on every machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"k8s-cli/deploy/image/sbom"
)

const usage = `usage: image archive|push [flags]
       image sbom [--source DIR] PROGRAM...

  archive  write an OCI archive, which ctr, podman, skopeo and docker can load
  push     send it to the registry that the name says, with docker's credentials
  sbom     write PROGRAM.spdx.json, what a program that was built is made of;
           archive does so for the image, beside it

flags:`

// A request holds the command line.
type request struct {
	source    string // the checkout
	program   string // a key of recipes
	name      string // of the image, with registry and tag
	out       string // path of the archive
	platforms string // separated by commas

	programs []string // files whose modules are listed
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
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	verb, r, err := parse(args)
	if err != nil {
		return err
	}
	if verb == "sbom" {
		return r.list(ctx)
	}
	made, err := r.build(ctx)
	if err != nil {
		return err
	}
	digest, err := made.image.Digest()
	if err != nil {
		return fmt.Errorf("sum up the image: %w", err)
	}
	if _, err := name.NewTag(r.name, name.StrictValidation); err != nil { // without a tag, the tag is derived from the digest, so that each content has its own tag
		r.name += ":" + digest.Hex[:12]
	}
	if verb == "push" {
		if err := push(ctx, made.image, r.name); err != nil {
			return err
		}
		fmt.Printf("%s@%s\n", r.name, digest)
		return nil
	}
	if err := archive(made.image, r.name, r.out); err != nil {
		return err
	}
	contents := made.contents(r.name)
	if err := contents.WriteFile(r.out + sbomSuffix); err != nil {
		return err
	}
	fmt.Printf("%s: %s@%s for %s\n", r.out, r.name, digest, r.platforms)
	return nil
}

const sbomSuffix = ".spdx.json"

// list writes the lists of the modules in programs.
func (r request) list(ctx context.Context) error {
	from, err := commit(ctx, r.source)
	if err != nil {
		return err
	}
	for _, file := range r.programs {
		program, err := sbom.Read(file, from.version)
		if err != nil {
			return err
		}
		contents := sbom.Of("", "", from.created, []sbom.Program{program})
		if err := contents.WriteFile(file + sbomSuffix); err != nil {
			return err
		}
		fmt.Printf("%s: %d modules\n", file+sbomSuffix, len(program.Modules))
	}
	return nil
}

func parse(args []string) (verb string, r request, err error) {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&r.source, "source", "../..", "build the checkout in this `directory`")
	flags.StringVar(&r.program, "program", server, "what the image runs: "+server+", "+nats+" or "+bucket)
	flags.StringVar(&r.name, "name", "", "the image's `name`, such as registry.example.com/team/k8s-cli-server:v1; without a tag, it gets the beginning of its digest")
	flags.StringVar(&r.out, "out", "", "write the archive to this `file`")
	flags.StringVar(&r.platforms, "platforms", "linux/amd64,linux/arm64", "build for these, with commas between them")
	if len(args) == 0 || !slices.Contains([]string{"archive", "push", "sbom"}, args[0]) {
		flags.Usage()
		return "", r, flag.ErrHelp
	}
	if err := flags.Parse(args[1:]); err != nil {
		return "", r, flag.ErrHelp // flags has printed the error
	}
	if args[0] == "sbom" {
		r.programs = flags.Args()
		if len(r.programs) == 0 {
			return "", r, errors.New("sbom: name the programs")
		}
		return "sbom", r, nil
	}
	switch {
	case flags.NArg() > 0:
		return "", r, fmt.Errorf("%q is not a flag", flags.Arg(0))
	case r.name == "":
		return "", r, errors.New("--name: is empty; name the image")
	case args[0] == "archive" && r.out == "":
		return "", r, errors.New("--out: is empty; name the file to write")
	}
	for platform := range strings.SplitSeq(r.platforms, ",") {
		if system, machine, ok := strings.Cut(platform, "/"); !ok || system != "linux" || machine == "" {
			return "", r, fmt.Errorf("--platforms: %q is not linux/ARCHITECTURE", platform)
		}
	}
	return args[0], r, nil
}
