package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// One program contains all mutants, because a build takes far longer than most tests. Each
// mutant is a copy of its function at the end of the file. The function begins with a call
// of the copy that the environment selects.
const (
	chosen  = "mutantChosen__"
	chooser = `import (
	"os"
	"strconv"
)

var ` + chosen + `, _ = strconv.Atoi(os.Getenv("MUTANT"))
`
)

// A span is the range of lines of one mutant in a file.
type span struct {
	first, last int
	mutant      *mutant
}

// combine returns the source of a file with all its mutants and the lines of each mutant.
// There must be at least one mutant.
func combine(mutants []*mutant) (text []byte, spans []span) {
	src := mutants[0].src
	var edits []edit
	var copies strings.Builder
	line := bytes.Count(src, []byte("\n")) + 2
	for _, of := range byFunction(mutants) {
		f := of[0].function
		signature, call := callable(f)
		body := offset(f.Body.Lbrace) + 1
		var cases strings.Builder
		for _, m := range of {
			name := fmt.Sprintf("%s__%d", f.Name.Name, m.id)
			fmt.Fprintf(&cases, " case %d: %s;", m.id, fmt.Sprintf(call, name))
			rename := edit{offset(f.Name.Pos()), offset(f.Name.End()), name}
			copied := apply(src, offset(f.Pos()), offset(f.End()), append([]edit{rename, m.edit}, signature...))
			fmt.Fprintf(&copies, "\n%s\n", copied)
			last := line + bytes.Count(copied, []byte("\n"))
			spans = append(spans, span{line, last, m})
			line = last + 2
		}
		edits = append(edits, signature...)
		edits = append(edits, edit{body, body, " switch " + chosen + " {" + cases.String() + " };"})
	}
	return append(apply(src, 0, len(src), edits), copies.String()...), spans
}

// byFunction groups the mutants of a file, in the order of the text.
func byFunction(mutants []*mutant) (groups [][]*mutant) {
	ordered := slices.SortedFunc(slices.Values(mutants), func(a, b *mutant) int {
		return cmp.Or(cmp.Compare(a.function.Pos(), b.function.Pos()), cmp.Compare(a.id, b.id))
	})
	for i, m := range ordered {
		if i == 0 || ordered[i-1].function != m.function {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], m)
	}
	return groups
}

// apply returns src[from:to] with the edits, which do not overlap.
func apply(src []byte, from, to int, edits []edit) (out []byte) {
	edits = slices.SortedStableFunc(slices.Values(edits), func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	for _, e := range edits {
		out = append(append(out, src[from:e.from]...), e.text...)
		from = e.to
	}
	return append(out, src[from:to]...)
}

// callable returns the edits that give a name to each unnamed parameter of f. call is a
// format for the statement that calls a function with the signature of f and the arguments
// of f.
func callable(f *ast.FuncDecl) (edits []edit, call string) {
	var types, arguments []string
	name := func(field *ast.Field) (names []string) {
		for _, id := range field.Names {
			to := id.Name
			if to == "_" {
				to = fmt.Sprint("p__", offset(id.Pos()))
				edits = append(edits, edit{offset(id.Pos()), offset(id.End()), to})
			}
			names = append(names, to)
		}
		if at := offset(field.Type.Pos()); len(field.Names) == 0 {
			names = []string{fmt.Sprint("p__", at)}
			edits = append(edits, edit{at, at, names[0] + " "})
		}
		return names
	}
	call = "%s"
	if f.Recv != nil {
		call = name(f.Recv.List[0])[0] + ".%s"
	}
	if f.Type.TypeParams != nil {
		for _, field := range f.Type.TypeParams.List {
			types = append(types, name(field)...)
		}
		call += "[" + strings.Join(types, ", ") + "]"
	}
	for _, field := range f.Type.Params.List {
		names := name(field)
		if _, variadic := field.Type.(*ast.Ellipsis); variadic {
			names[0] += "..."
		}
		arguments = append(arguments, names...)
	}
	call += "(" + strings.Join(arguments, ", ") + ")"
	if f.Type.Results == nil {
		return edits, call + "; return"
	}
	return edits, "return " + call
}
