package problem

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestEveryReasonIsDescribed checks that each constant has one description, and that a
// specific reason has the status of its general reason.
func TestEveryReasonIsDescribed(t *testing.T) {
	described := map[string]bool{}
	for _, d := range Reasons() {
		switch {
		case described[string(d.Reason)]:
			t.Errorf("%s has several descriptions", d.Reason)
		case d.Code < 400 || d.Code > 599 || d.Meaning == "":
			t.Errorf("%s: %d %q", d.Reason, d.Code, d.Meaning)
		case d.General != "" && (d.General.Code() != d.Code || byReason[d.General].General != ""):
			t.Errorf("%s is no specific form of %s", d.Reason, d.General)
		}
		described[string(d.Reason)] = true
	}
	constants := constants(t)
	for _, name := range constants {
		if !described[name] {
			t.Errorf("%s has no description", name)
		}
	}
	if len(constants) != len(described) {
		t.Errorf("%d reasons are described, and %d exist", len(described), len(constants))
	}
}

// constants returns the values of the constants of type Reason.
func constants(t *testing.T) (values []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "problem.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Reason" {
			value, _ := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if value != spec.Names[0].Name {
				t.Errorf("constant %s has the value %s", spec.Names[0].Name, value)
			}
			values = append(values, value)
		}
		return true
	})
	return values
}

func TestReasonsOfErrors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		err    error
		reason Reason
		code   int
		field  string
	}{
		{"a specific reason", New(KeyReused, "Idempotency-Key: the key was already used"), KeyReused, 409, "Idempotency-Key"},
		{"a general reason", New(Invalid, `resources.any_of[1].cpus: "x" is not a number`), Invalid, 422, "resources.any_of[1].cpus"},
		{"a wrapped error", fmt.Errorf("read: %w", New(TaskNotFound, "Task t1 not found")), TaskNotFound, 404, ""},
		{"a message about no field", New(Malformed, "the body ends too early: EOF"), Malformed, 400, ""},
		{"an error without a reason", errors.New("dial: refused"), InternalError, 500, ""},
	} {
		if r := Of(tt.err); r != tt.reason || r.Code() != tt.code || Field(tt.err) != tt.field {
			t.Errorf("%s: %s, %d, %q", tt.name, r, r.Code(), Field(tt.err))
		}
	}
	if err := New(KeyReused, ""); !errors.Is(err, Conflict) || errors.Is(err, Invalid) {
		t.Error("KeyReused must be a Conflict and nothing else")
	}
	for code, want := range map[int]Reason{404: NotFound, 415: UnsupportedMediaType, 418: Malformed, 502: InternalError, 505: VersionNotSupported} {
		if got := OfCode(code); got != want {
			t.Errorf("%d is %s, want %s", code, got, want)
		}
	}
}

// TestPageListsTheReasons checks that docs/api.md has a row for each reason.
func TestPageListsTheReasons(t *testing.T) {
	page, err := os.ReadFile("../../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, d := range Reasons() {
		fmt.Fprintf(&want, "| %d | `%s` | %s |\n", d.Code, d.Reason, d.Meaning)
	}
	rows := regexp.MustCompile("(?m)^\\| [0-9]{3} \\| `\\w+` \\| .*\n").FindAllString(string(page), -1)
	if got := strings.Join(rows, ""); got != want.String() {
		t.Errorf("docs/api.md must have these rows:\n%s", want.String())
	}
}
