//go:build linux

// Command local runs a real Kubernetes on one machine, from source.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"k8s-cli/deploy/local/build"
	"k8s-cli/deploy/local/cluster"
	"k8s-cli/deploy/local/layout"
)

const usage = `usage: local up|down|status|kubectl|find [flags]
       local load [flags] ARCHIVE...

  up      start the cluster and return when it is ready; harmless if it runs
  down    end it and remove its state; harmless if there is none
  status  say what runs
  load    give the node the images of archives
  kubectl build kubectl, and print its path
  find    look for a cluster that this machine already has

flags:`

// A command is a verb's surroundings.
type command struct {
	layout layout.Layout
	source string // the directory of this module
	tell   build.Teller

	archives  []string // to load
	firstTask bool     // up returns without the add-ons
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	interrupted := ctx.Err() != nil && errors.Is(err, context.Canceled)
	stop()
	switch {
	case err == nil:
		return
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case interrupted:
		err = errors.New("interrupted")
	}
	fmt.Fprintln(os.Stderr, "local cluster:", err)
	os.Exit(1)
}

func run(ctx context.Context, args []string) error {
	if len(args) == 2 && args[0] == "supervise" {
		return supervised(ctx, args[1])
	}
	if len(args) > 0 && args[0] == "find" {
		return find(ctx, args[1:])
	}
	verb, c, err := parse(args)
	if err != nil {
		return err
	}
	switch verb {
	case "up":
		return c.up(ctx)
	case "down":
		return c.down(ctx)
	case "load":
		return c.load(ctx, c.archives)
	case "kubectl":
		return c.kubectl(ctx)
	default:
		return c.status(ctx)
	}
}

// supervised is the process that stays. Its parent reads from descriptor 3
// why it will not, or nothing.
func supervised(ctx context.Context, path string) error {
	pipe := os.NewFile(3, "parent")
	s, err := stored(path)
	if err != nil {
		fmt.Fprint(pipe, err)
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	return cluster.Supervise(ctx, s.Layout, s.Kit, log, func(err error) {
		if err != nil {
			fmt.Fprint(pipe, err)
		}
		pipe.Close()
	})
}

// parse reads the verb and its flags.
func parse(args []string) (string, command, error) {
	var l layout.Layout
	flags := flag.NewFlagSet("local", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), usage)
		flags.PrintDefaults()
	}
	nodes := cmp.Or(os.Getenv("NODES"), string(layout.Kubelet))
	flags.StringVar(&l.Dir, "dir", "../../.local", "keep the cluster in this `directory`")
	flags.StringVar(&l.Cache, "cache", "", "keep built programs in this `directory` (default: k8s-cli in the user's cache)")
	flags.StringVar(&nodes, "nodes", nodes, "kubelet: one real node, needs root; kwok: fake nodes; none: etcd and the API server alone (also NODES)")
	instance, err := instanceFromEnvironment()
	if err != nil {
		return "", command{}, err
	}
	flags.IntVar(&l.Instance, "instance", instance, "0 to 15: clusters on the same machine need different numbers (also INSTANCE; default: the number of the cluster in the directory, or 0)")
	flags.IntVar(&l.KwokNodes, "kwok-nodes", 10, "how many fake nodes")
	firstTask := flags.Bool("first-task", false, "up: return without DNS and the addresses of Services, which the first task can do without; a later up adds them")
	if len(args) == 0 || !slices.Contains([]string{"up", "down", "status", "load", "kubectl"}, args[0]) {
		flags.Usage()
		return "", command{}, flag.ErrHelp
	}
	if err := flags.Parse(args[1:]); err != nil {
		return "", command{}, flag.ErrHelp // flags has said what is wrong
	}
	if takes := args[0] == "load"; takes != (flags.NArg() > 0) {
		if takes {
			return "", command{}, errors.New("load what? name archives of images")
		}
		return "", command{}, fmt.Errorf("%q is not a flag", flags.Arg(0))
	}
	l.Nodes = layout.Nodes(nodes)
	c, err := newCommand(l)
	c.archives, c.firstTask = flags.Args(), *firstTask
	return args[0], c, err
}

// existingInstance selects the instance of the cluster in the directory, or 0 without a cluster.
const existingInstance = -1

func instanceFromEnvironment() (int, error) {
	text := os.Getenv("INSTANCE")
	if text == "" {
		return existingInstance, nil
	}
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("INSTANCE is %q, want a number from 0 to %d", text, layout.MaxInstance)
	}
	return int(n), nil
}

func newCommand(l layout.Layout) (command, error) {
	source, err := os.Getwd()
	if err != nil {
		return command{}, err
	}
	if l.Dir, err = resolve(l.Dir); err != nil {
		return command{}, err
	}
	if l.Instance == existingInstance {
		l.Instance = 0
		if old, err := stored(l.Settings()); err == nil {
			l.Instance = old.Layout.Instance
		}
	}
	if err := l.Validate(); err != nil {
		return command{}, err
	}
	if l.Cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return command{}, fmt.Errorf("find the cache directory: %w; name one with --cache", err)
		}
		l.Cache = filepath.Join(user, "k8s-cli")
	}
	l.Cache, err = filepath.Abs(l.Cache)
	return command{layout: l, source: source, tell: build.NewTeller(os.Stdout)}, err
}

// resolve makes path absolute, and resolves the links in the part that exists: the
// same directory must always have the same name.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	if path == "/" {
		return path, nil
	}
	parent, err := resolve(filepath.Dir(path))
	return filepath.Join(parent, filepath.Base(path)), err
}
