// Package fences checks which packages may import which, as the map of the packages
// promises. The package also checks messages and documentation for phrases that are hard to
// read.
package fences

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s-cli/test/testkit/must"
)

const (
	root   = "../.."
	module = "k8s-cli/"
)

// own maps a package to the packages of this project that it may import, besides its own
// subpackages. Only packages below cmd may import all.
var own = map[string][]string{
	"pkg/task":           {},
	"pkg/bounded":        {},
	"pkg/crash":          {},
	"pkg/trace":          {},
	"pkg/release":        {},
	"pkg/auth":           {"pkg/task"},
	"pkg/taskfile":       {"pkg/task"},
	"pkg/seal":           {"pkg/task"},
	"pkg/queue":          {"pkg/task", "pkg/crash"},
	"pkg/placement":      {"pkg/task"},
	"pkg/cache":          {"pkg/task", "pkg/placement"},
	"pkg/submit":         {"pkg/cache", "pkg/task", "pkg/placement", "pkg/crash", "pkg/trace"},
	"pkg/status":         {"pkg/bounded", "pkg/cache", "pkg/task"},
	"pkg/logs":           {"pkg/task"},
	"pkg/notify":         {"pkg/task", "pkg/release"},
	"pkg/bucketprogress": {"pkg/task"},
	"pkg/ui":             {},
	"pkg/session":        {"pkg/task", "pkg/auth", "pkg/cache", "pkg/seal"},
	"pkg/exec":           {"pkg/task"},
	"pkg/api":            {"pkg/bounded", "pkg/exec", "pkg/seal", "pkg/session", "pkg/status", "pkg/task", "pkg/taskfile", "pkg/trace", "pkg/ui"},
	"pkg/client":         {"pkg/task", "pkg/exec"},
	"cmd/k8s-cli":        {"pkg/task", "pkg/exec", "pkg/taskfile", "pkg/client", "pkg/release", "pkg/trace"},
	"cmd/k8s-cli-server": {"pkg/task", "pkg/crash", "pkg/queue", "pkg/cache", "pkg/submit", "pkg/status", "pkg/logs", "pkg/exec", "pkg/api", "pkg/seal", "pkg/auth", "pkg/release", "pkg/trace", "pkg/ui", "pkg/session", "pkg/notify", "pkg/bucketprogress"},
}

// others maps an import path to the packages that may import it: an import path outside this
// project, or a part of it that most packages must not link. Every package may import a path
// that is not in the map.
var others = map[string][]string{
	"github.com/gofiber/":               {"pkg/api"},
	"github.com/nats-io/":               {"pkg/queue"},
	"github.com/spf13/":                 {"cmd/k8s-cli", "cmd/k8s-cli-server"},
	"gopkg.in/yaml":                     {"pkg/taskfile", "pkg/client", "cmd/k8s-cli"},
	"github.com/coreos/go-oidc":         {"pkg/auth", "pkg/client", "cmd/k8s-cli"},
	"go.opentelemetry.io/":              {"pkg/trace"},
	"github.com/prometheus/":            {"pkg/api", "pkg/queue", "pkg/cache", "pkg/submit", "pkg/notify", "cmd/k8s-cli-server"},
	"github.com/fasthttp/websocket":     {"pkg/api"},
	"github.com/gorilla/websocket":      {"pkg/client"},
	"k8s.io/client-go/tools/cache":      {"pkg/cache"},
	"k8s.io/client-go/util/workqueue":   {"pkg/submit"},
	"k8s.io/client-go/tools/clientcmd":  {"cmd/k8s-cli-server"},
	"k8s.io/":                           {"pkg/auth", "pkg/placement", "pkg/cache", "pkg/submit", "pkg/logs", "pkg/bucketprogress", "pkg/exec/pods", "cmd/k8s-cli-server"},
	"k8s.io/client-go/tools/leaderelec": {"cmd/k8s-cli-server"},
	module + "pkg/exec/pods":            {"cmd/k8s-cli-server"}, // it links client-go, and package exec is for the CLI too
}

// small lists the packages of others that cmd/k8s-cli may import although others has their
// prefix: packages that import no other package of Kubernetes.
var small = []string{"k8s.io/apimachinery/pkg/util/duration", "k8s.io/client-go/util/jsonpath"}

// queueParts maps a package below pkg/queue to the packages below pkg/queue and of NATS that
// it may import. Imports flow in one direction.
var queueParts = map[string][]string{
	"pkg/queue":                   {"pkg/queue/blob", "pkg/queue/streams", "pkg/queue/natsconn", "pkg/queue/internal/subject", "nats.go"},
	"pkg/queue/backup":            {"pkg/queue/streams", "pkg/queue/natsconn", "pkg/queue/internal/subject", "nats.go"},
	"pkg/queue/blob":              {"pkg/queue/streams", "pkg/queue/natsconn", "nats.go"},
	"pkg/queue/events":            {"pkg/queue/streams", "pkg/queue/natsconn", "pkg/queue/internal/subject", "nats.go"},
	"pkg/queue/streams":           {"pkg/queue/natsconn", "pkg/queue/internal/subject", "nats.go"},
	"pkg/queue/natsserver":        {"pkg/queue/natsconn", "pkg/queue/internal/subject", "nats.go", "nats-server", "nkeys"},
	"pkg/queue/natsconn":          {"nats.go"},
	"pkg/queue/internal/subject":  {},
	"pkg/queue/internal/natstest": {"pkg/queue/natsconn", "pkg/queue/natsserver", "nats.go", "nats-server"}, // for tests only
}

func TestPartsOfTheQueue(t *testing.T) {
	seen := map[string]bool{}
	for file, imports := range sources(t) {
		if homeOf(file) != "pkg/queue" {
			continue
		}
		part := path.Dir(file)
		seen[part] = true
		for _, imported := range imports {
			what, ours := strings.CutPrefix(imported, module)
			if nats, found := strings.CutPrefix(imported, "github.com/nats-io/"); found {
				what, _, _ = strings.Cut(nats, "/")
			} else if !ours || homeOf(what+"/") != "pkg/queue" {
				continue
			}
			if !slices.Contains(queueParts[part], what) {
				t.Errorf("%s imports %s", file, imported)
			}
		}
	}
	for part := range seen {
		if _, known := queueParts[part]; !known {
			t.Errorf("no fence names %s", part)
		}
	}
	for part := range queueParts {
		if !seen[part] {
			t.Errorf("there is no %s any more", part)
		}
	}
}

// parts maps a package below pkg/cache or pkg/task to the packages of the same home that it may
// import. Imports flow in one direction.
var parts = map[string][]string{
	"pkg/cache":           {"pkg/cache/capacity", "pkg/cache/convert", "pkg/cache/eventring", "pkg/cache/explain", "pkg/cache/groups", "pkg/cache/listwatch", "pkg/cache/nodefit", "pkg/cache/samples", "pkg/cache/selection", "pkg/cache/sorted", "pkg/cache/state"},
	"pkg/cache/capacity":  {"pkg/cache/nodefit"},
	"pkg/cache/convert":   {"pkg/cache/capacity", "pkg/cache/nodefit"},
	"pkg/cache/eventring": {},
	"pkg/cache/explain":   {"pkg/cache/convert", "pkg/cache/nodefit"},
	"pkg/cache/groups":    {"pkg/cache/selection", "pkg/cache/sorted", "pkg/cache/state"},
	"pkg/cache/listwatch": {},
	"pkg/cache/nodefit":   {},
	"pkg/cache/samples":   {},
	"pkg/cache/selection": {"pkg/cache/state"},
	"pkg/cache/sorted":    {},
	"pkg/cache/state":     {},
	"pkg/task":            {"pkg/task/bucket", "pkg/task/outputs", "pkg/task/problem"},
	"pkg/task/attempt":    {"pkg/task"},
	"pkg/task/bucket":     {},
	"pkg/task/callback":   {"pkg/task", "pkg/task/problem"},
	"pkg/task/gpu":        {},
	"pkg/task/group":      {"pkg/task", "pkg/task/overview", "pkg/task/problem"},
	"pkg/task/logpos":     {"pkg/task/problem"},
	"pkg/task/outputs":    {},
	"pkg/task/overview":   {"pkg/task"},
	"pkg/task/policy":     {"pkg/task", "pkg/task/bucket", "pkg/task/callback", "pkg/task/problem"},
	"pkg/task/problem":    {},
	"pkg/task/query":      {"pkg/task", "pkg/task/problem"},
	"pkg/task/usage":      {"pkg/task", "pkg/task/problem"},
}

func TestPartsOfTheCacheAndOfTask(t *testing.T) {
	seen := map[string]bool{}
	for file, imports := range sources(t) {
		home := homeOf(file)
		if home != "pkg/cache" && home != "pkg/task" {
			continue
		}
		part := path.Dir(file)
		if seen[part] = true; parts[part] == nil {
			t.Errorf("no fence names %s", part)
		}
		for _, imported := range imports {
			what, ours := strings.CutPrefix(imported, module)
			if ours && homeOf(what+"/") == home && !slices.Contains(parts[part], what) {
				t.Errorf("%s imports %s", file, imported)
			}
		}
	}
	for part := range parts {
		if !seen[part] {
			t.Errorf("there is no %s any more", part)
		}
	}
}

func TestFences(t *testing.T) {
	seen := map[string]bool{}
	for file, imports := range sources(t) {
		home := homeOf(file)
		seen[home] = true
		allowed, known := own[home]
		if !known {
			t.Errorf("%s: no fence names this package", file)
		}
		for _, imported := range imports {
			if inside, ours := strings.CutPrefix(imported, module); ours {
				if at := homeOf(inside + "/"); at != home && !slices.Contains(allowed, at) {
					t.Errorf("%s imports %s", file, imported)
				}
			}
			for prefix, homes := range others {
				if home == "cmd/k8s-cli" && slices.Contains(small, imported) {
					continue
				}
				if strings.HasPrefix(imported, prefix) && !slices.Contains(homes, home) && !slices.Contains(homes, path.Dir(file)) {
					t.Errorf("%s imports %s", file, imported)
				}
			}
		}
	}
	for home := range own {
		if !seen[home] {
			t.Errorf("there is no %s any more", home)
		}
	}
}

// sources returns the imports of every source file of the product.
func sources(t *testing.T) map[string][]string {
	all := map[string][]string{}
	for _, top := range []string{"pkg", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(file string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, file)
			all[filepath.ToSlash(name)] = nil
			for _, i := range parsed.Imports {
				imported, _ := strconv.Unquote(i.Path.Value)
				all[filepath.ToSlash(name)] = append(all[filepath.ToSlash(name)], imported)
			}
			return err
		})
		must.Succeed(t, err)
	}
	return all
}

// homeOf returns the package of the map to which a file belongs: its first two directories.
func homeOf(file string) string {
	parts := strings.SplitN(path.Clean(path.Dir(file+"x")), "/", 3)
	return path.Join(parts[:min(len(parts), 2)]...)
}
