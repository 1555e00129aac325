package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"k8s-cli/deploy/image/sbom"
)

// The programs with an image.
const (
	server = "k8s-cli-server"
	nats   = "nats-server"
	bucket = "k8s-cli-bucket"
)

const natsModule = "github.com/nats-io/nats-server/v2"

// A recipe describes how to build an image.
type recipe struct {
	dir    string // directory of the module with the package, below the checkout
	pkg    string // the package to build
	labels map[string]string
	ports  []string
	from   func(ctx context.Context, source string) (origin, error)
}

// An origin describes the sources of an image.
type origin struct {
	version, revision string
	url               string // public address of the sources; empty if unknown
	created           time.Time
}

var recipes = map[string]recipe{
	server: {
		pkg: "./cmd/k8s-cli-server",
		labels: map[string]string{
			"org.opencontainers.image.title":       server,
			"org.opencontainers.image.description": "Runs SkyPilot-style tasks on Kubernetes",
			"org.opencontainers.image.licenses":    "Apache-2.0",
		},
		ports: []string{"8000/tcp"},
		from:  commit,
	},
	nats: {
		pkg: natsModule,
		labels: map[string]string{
			"org.opencontainers.image.title":       nats,
			"org.opencontainers.image.description": "NATS, as " + server + " is built and tested with it",
			"org.opencontainers.image.licenses":    "Apache-2.0",
		},
		ports: []string{"4222/tcp", "6222/tcp", "8222/tcp"},
		from:  release,
	},
	bucket: {
		dir: "deploy/bucket",
		pkg: ".",
		labels: map[string]string{
			"org.opencontainers.image.title":       bucket,
			"org.opencontainers.image.description": "Moves the data of buckets for tasks, with rclone",
			"org.opencontainers.image.licenses":    "Apache-2.0 AND MIT",
		},
		from: commit,
	},
}

// A built image is the index of the images for all platforms, with the contents of its
// programs.
type built struct {
	image    v1.ImageIndex
	programs []sbom.Program
	from     origin
}

// build builds the image for all platforms.
func (r request) build(ctx context.Context) (*built, error) {
	recipe, known := recipes[r.program]
	if !known {
		return nil, fmt.Errorf("--program: %q is not one of %s, %s and %s", r.program, server, nats, bucket)
	}
	from, err := recipe.from(ctx, r.source)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "k8s-cli-image-")
	if err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // if RemoveAll fails, the directory remains among the temporary files
	made := &built{from: from}
	var images []platformImage
	for platform := range strings.SplitSeq(r.platforms, ",") {
		_, machine, _ := strings.Cut(platform, "/")
		program := filepath.Join(dir, machine, r.program)
		if err := compile(ctx, filepath.Join(r.source, recipe.dir), recipe.pkg, machine, program); err != nil {
			return nil, err
		}
		image, err := recipe.image(r.program, program, machine, from)
		if err != nil {
			return nil, err
		}
		images = append(images, platformImage{machine, image})
		contents, err := sbom.Read(program, from.version)
		if err != nil {
			return nil, err
		}
		made.programs = append(made.programs, contents)
	}
	made.image = index(images)
	return made, nil
}

// contents returns the list of the modules in the image.
func (b *built) contents(name string) sbom.Document {
	return sbom.Of(name, b.from.version, b.from.created, b.programs, authoritiesModule()...)
}

const authoritiesPath = "golang.org/x/crypto/x509roots/fallback"

// authoritiesModule returns the module with the certificates of public authorities, in
// the version that this program is built with.
func authoritiesModule() []sbom.Module {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == authoritiesPath })
	if i < 0 {
		return nil
	}
	return []sbom.Module{sbom.ModuleOf(info.Deps[i])}
}

// compile builds a static program. The program does not depend on the paths, libraries or
// settings of the machine, so that builds are reproducible.
func compile(ctx context.Context, source, pkg, machine, out string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=auto", "-ldflags", "-s -w -buildid=", "-o", out, pkg)
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+machine, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s for %s: %w\n%s", pkg, machine, err, said)
	}
	return nil
}

// commit returns the origin of a checkout. Without git, the origin has no revision.
func commit(ctx context.Context, source string) (origin, error) {
	o := origin{version: "(devel)", created: time.Unix(0, 0).UTC()}
	described, err := output(ctx, source, "git", "describe", "--tags", "--always", "--dirty")
	if err != nil {
		return o, nil
	}
	o.version = described
	if o.revision, err = output(ctx, source, "git", "rev-parse", "HEAD"); err != nil {
		return o, err
	}
	at, err := output(ctx, source, "git", "log", "-1", "--format=%cI")
	if err != nil {
		return o, err
	}
	o.created, err = time.Parse(time.RFC3339, at)
	o.created = o.created.UTC()
	if remote, err := output(ctx, source, "git", "remote", "get-url", "origin"); err == nil {
		o.url = public(remote)
	}
	return o, err
}

// public returns the address of a remote without credentials. It returns an empty string
// if the address is not an https URL.
func public(remote string) string {
	u, err := url.Parse(remote)
	if err != nil || u.Scheme != "https" {
		return ""
	}
	u.User = nil
	return strings.TrimSuffix(u.String(), ".git")
}

// release returns the version of NATS in go.mod as the origin of the NATS image.
func release(ctx context.Context, source string) (origin, error) {
	version, err := output(ctx, source, "go", "list", "-m", "-f", "{{.Version}}", natsModule)
	return origin{version: strings.TrimPrefix(version, "v"), url: "https://github.com/nats-io/nats-server", created: time.Unix(0, 0).UTC()}, err
}

func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
