package fences

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s-cli/pkg/crash"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// changing matches the methods of client-go and JetStream that change the cluster or the
// log.
var changing = regexp.MustCompile(`^(Create|Update|UpdateStatus|Patch|Apply|ApplyStatus|Delete|DeleteCollection|Evict|EvictV1|` +
	`Publish(Msg|Async|MsgAsync|Request)?|(Create|Update|CreateOrUpdate|Delete)(Stream|ObjectStore|KeyValue)|Purge\w*|DeleteMsg|SecureDeleteMsg|Put\w*)$`)

// uncovered maps functions that need no crash points to the reason.
var uncovered = map[string]string{
	"pkg/queue/streams/create.go Create":            "makes the stream if there is none, before anything is answered",
	"pkg/queue/streams/create.go CreateObjectStore": "as Create",
	"pkg/queue/stream_settings.go openLogStream":    "sets a limit, before anything is answered",
	"pkg/queue/blob/bucket.go OpenBucket":           "as openLogStream",
	"pkg/queue/barrier_entry.go appendBarrier":      "stores an entry without effect; in an empty stream, the first one names the log",
	"pkg/queue/blob/bucket.go confirm":              "stores a message that is of no object",
	"pkg/queue/blob/bucket.go purgeThrough":         "of what is left undone the list still tells, or, of chunks without a name, the limit",

	"pkg/bucketprogress/bucketprogress.go annotate": "is a message for users; the next round publishes what was not",

	"pkg/exec/pods/forward.go openStreams": "opens streams of one connection, which nothing stores",

	"pkg/auth/token_review.go ask": "asks whose a token is; a TokenReview is stored nowhere",

	"cmd/k8s-cli-server/secrets.go sharedKey": "makes the key if there is none, before anything is answered: of several who do, all take the first one's",

	"pkg/queue/events/stream.go open":                "as openLogStream",
	"pkg/queue/events/publisher.go publishEphemeral": "is heard by who listens at that moment, and stored nowhere",

	"pkg/queue/natsconn/samples.go SendSamples": "as publishEphemeral; the next message has newer samples",

	"pkg/queue/streams/checkpoint.go Store": "stores how far notifications were sent; what is not stored, the next leader sends again",

	"pkg/queue/backup/restore.go clear": "a command of the operator, while no server runs",

	"pkg/queue/blob/store.go put": "keeps what may be lost: the end of a log is read and stored again by who leads next, while its pod is there",

	"pkg/queue/blob/chunks.go sendChunk": "stores a part of an object that nobody finds before sendInfo; a part that stays is swept",
	"pkg/queue/blob/chunks.go sendInfo":  "is what the callers of Put are: putSnapshot, put of store.go, Store of uploads.go",
	"pkg/queue/blob/uploads.go Store":    "lies before AppendUpload; what nobody learns of is swept",

	"pkg/queue/snapshot_store.go putSnapshot": "lies between AppendSnapshotMarker and AppendSnapshotStored; what is half stored has no name, and is swept",
	"pkg/queue/compaction.go compact":         "comes after AppendSnapshotStored; what it leaves undone, the next one does",
}

// Every call that changes the cluster or the log is alone in its function, between the two
// crash points of a step, and every step is used.
func TestEveryChangeHasItsCrashPoints(t *testing.T) {
	used, excused := map[string]bool{}, map[string]bool{}
	for file, parsed := range syntax(t) {
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || strings.HasPrefix(file, "pkg/crash/") {
				continue
			}
			at := file + " " + f.Name.Name
			changes, befores, afters := calls(f, parsed)
			for _, step := range befores {
				used[step.name] = true
			}
			if _, ok := uncovered[at]; ok {
				excused[at] = true
				continue
			}
			for i, change := range changes {
				if len(changes) != 1 || !surrounded(changes[i], befores, afters) {
					t.Errorf("%s: %s has no crash points of its own before and after it", at, change.name)
				}
			}
		}
	}
	for at := range uncovered {
		if !excused[at] {
			t.Errorf("there is no %s any more", at)
		}
	}
	for _, step := range stepNames(t) {
		if !used[step] && !strings.HasPrefix(step, "Append") {
			t.Errorf("no code passes crash.%s", step)
		}
	}
	if !used["Append"] {
		t.Error("no code passes the points of the commands")
	}
}

// Only streams.Create and streams.CreateObjectStore create streams. Both know the list of all
// streams, from which backups follow.
func TestStreamsAreCreatedFromOneList(t *testing.T) {
	creates := regexp.MustCompile(`^(Create|CreateOrUpdate)(Stream|ObjectStore|KeyValue)$`)
	const only = "pkg/queue/streams/create.go"
	found := map[string]bool{}
	for file, parsed := range syntax(t) {
		if !slices.ContainsFunc(parsed.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"github.com/nats-io/nats.go/jetstream"` }) {
			continue
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			changes, _, _ := calls(f, parsed)
			for _, change := range changes {
				if !creates.MatchString(change.name) {
					continue
				}
				if found[file] = true; file != only {
					t.Errorf("%s: %s calls %s; call streams.Create, so that backups contain the stream", file, f.Name.Name, change.name)
				}
			}
		}
	}
	if !found[only] {
		t.Errorf("%s creates no stream", only)
	}
}

// Every command and every fact has its step, and every step of an append has its command or
// fact.
func TestEveryCommandHasItsCrashPoints(t *testing.T) {
	var want, got []string
	for f := range reflect.TypeFor[task.Command]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		want = append(want, "append-"+strings.ReplaceAll(name, "_", "-"))
	}
	for _, s := range crash.Steps {
		if strings.HasPrefix(string(s), "append-") {
			got = append(got, string(s))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("steps %q, want %q", got, want)
	}
}

// stepNames returns the names of the constants of package crash. Each constant must be in
// crash.Steps.
func stepNames(t *testing.T) (names []string) {
	t.Helper()
	values := map[string]bool{}
	ast.Inspect(syntax(t)["pkg/crash/step.go"], func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
			value, _ := strconv.Unquote(literal.Value)
			names = append(names, spec.Names[0].Name)
			values[value] = true
		}
		return true
	})
	for _, s := range crash.Steps {
		delete(values, string(s))
	}
	if len(values) > 0 || len(names) != len(crash.Steps) {
		t.Errorf("crash.Steps lacks %v", values)
	}
	return names
}

// A mark is the place of a call, or of the crash point before or after a call.
type mark struct {
	name string
	at   token.Pos
}

func surrounded(change mark, befores, afters []mark) bool {
	return len(befores) == 1 && len(afters) == 1 && befores[0].name == afters[0].name && befores[0].at < change.at
}

// calls returns the changing calls and the crash points of a function.
func calls(f *ast.FuncDecl, file *ast.File) (changes, befores, afters []mark) {
	packages := map[string]bool{}
	for _, i := range file.Imports {
		name, _ := strconv.Unquote(i.Path.Value)
		name = name[strings.LastIndex(name, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		packages[name] = true
	}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		function, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, _ := function.X.(*ast.Ident)
		switch {
		case of != nil && of.Name == "crash" && function.Sel.Name == "Before":
			befores = append(befores, mark{step(call), call.Pos()})
		case of != nil && of.Name == "crash" && function.Sel.Name == "After":
			afters = append(afters, mark{step(call), call.Pos()})
		case of != nil && packages[of.Name]: // a function of a package, not a method
		case changing.MatchString(function.Sel.Name) && !isRoute(call) && !isPool(function.Sel.Name, call):
			changes = append(changes, mark{function.Sel.Name, call.Pos()})
		}
		return true
	})
	return changes, befores, afters
}

// isRoute reports whether the first argument of call is a literal, as in Fiber's
// Delete("/path", ...).
func isRoute(call *ast.CallExpr) bool {
	if len(call.Args) == 0 {
		return false
	}
	_, literal := call.Args[0].(*ast.BasicLit)
	return literal
}

// isPool reports whether call is Put of sync.Pool, which has one argument. The Put methods
// of JetStream have more.
func isPool(name string, call *ast.CallExpr) bool { return name == "Put" && len(call.Args) == 1 }

// step returns Name of crash.Before(crash.Name) or crash.Before(crash.Name(c)).
func step(call *ast.CallExpr) string {
	argument := call.Args[0]
	if of, ok := argument.(*ast.CallExpr); ok {
		argument = of.Fun
	}
	if name, ok := argument.(*ast.SelectorExpr); ok {
		return name.Sel.Name
	}
	return ""
}

// syntax returns the parsed source files of the product.
func syntax(t *testing.T) map[string]*ast.File {
	t.Helper()
	all := map[string]*ast.File{}
	for _, top := range []string{"pkg", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(file string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			name, err := filepath.Rel(root, file)
			if err != nil {
				return err
			}
			all[filepath.ToSlash(name)], err = parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			return err
		})
		must.Succeed(t, err)
	}
	return all
}
