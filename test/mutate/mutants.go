package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// An edit replaces src[from:to] of a file.
type edit struct {
	from, to int
	text     string
}

// A mutant is one change in one function.
type mutant struct {
	edit
	id       int // from 1
	file     string
	src      []byte
	function *ast.FuncDecl
	line     int
	old, new string // the expression or statement around the change, for the output
}

func (m mutant) String() string { return m.old + " → " + m.new }

// swaps maps an operator to its replacements. For a comparison, the first replacement is its
// negation and the second one moves the boundary.
var swaps = map[token.Token][]token.Token{
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LSS: {token.GEQ, token.LEQ}, token.GEQ: {token.LSS, token.GTR},
	token.GTR: {token.LEQ, token.GEQ}, token.LEQ: {token.GTR, token.LSS},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.AND: {token.OR}, token.OR: {token.AND}, token.SHL: {token.SHR}, token.SHR: {token.SHL},
	token.INC: {token.DEC}, token.DEC: {token.INC},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN},
	token.BREAK: {token.CONTINUE}, token.CONTINUE: {token.BREAK},
}

// words maps an identifier to its replacement.
var words = map[string]string{"true": "false", "false": "true", "min": "max", "max": "min"}

// A finder collects the mutants of a file.
type finder struct {
	file string
	src  []byte
	in   *ast.FuncDecl
	all  []*mutant
}

// mutate returns the mutants of all functions of a source file, in the order of the text. A
// generated file has no mutants. Some mutants do not compile.
func mutate(file string, src []byte) ([]*mutant, error) {
	f := &finder{file: file, src: src}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(parsed) {
		return nil, err
	}
	for _, d := range parsed.Decls {
		if function, ok := d.(*ast.FuncDecl); ok && function.Body != nil {
			f.in = function
			ast.Inspect(function.Body, f.visit)
		}
	}
	return f.all, nil
}

// offset returns the byte offset of pos. The file must be the only one in its token.FileSet.
func offset(pos token.Pos) int { return int(pos) - 1 }

// visit adds the mutants of a node and reports whether to visit its children.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ArrayType:
		return false
	case *ast.ExprStmt:
		return !isUnobserved(n.X)
	case *ast.BlockStmt:
		f.deletions(n.List)
	case *ast.CaseClause:
		f.deletions(n.Body)
	case *ast.CommClause:
		f.deletions(n.Body)
	case *ast.IfStmt:
		f.condition(n.Cond)
	case *ast.BinaryExpr:
		return f.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.add(n, n.OpPos, 1, "")
		}
	case *ast.CallExpr:
		return f.call(n)
	case *ast.IncDecStmt:
		f.swap(n, n.TokPos, n.Tok)
	case *ast.AssignStmt:
		f.swap(n, n.TokPos, n.Tok)
	case *ast.BranchStmt:
		if n.Label == nil {
			f.swap(n, n.TokPos, n.Tok)
		}
	case *ast.ReturnStmt:
		return f.dropError(n)
	case *ast.Ident:
		if to, ok := words[n.Name]; ok {
			f.add(n, n.Pos(), len(n.Name), to)
		}
	case *ast.BasicLit:
		f.number(n)
	}
	return true
}

// add appends the mutant that replaces length bytes at pos by text. The mutant shows the
// change within n.
func (f *finder) add(n ast.Node, pos token.Pos, length int, text string) {
	at := offset(pos)
	m := &mutant{edit: edit{at, at + length, text}, file: f.file, src: f.src, function: f.in}
	m.line = bytes.Count(f.src[:at], []byte("\n")) + 1
	from, to := offset(n.Pos()), offset(n.End())
	m.old = short(string(f.src[from:to]))
	m.new = short(string(f.src[from:m.from]) + text + string(f.src[m.to:to]))
	f.all = append(f.all, m)
}

func (f *finder) swap(n ast.Node, pos token.Pos, op token.Token) {
	for _, to := range swaps[op] {
		f.add(n, pos, len(op.String()), to.String())
	}
}

// binary adds the mutants of an operator and reports whether to visit its operands. The
// operands of a duration or a size such as 30*time.Second or 1<<20 are not mutated: the
// number is a choice, and another number is not wrong.
func (f *finder) binary(n *ast.BinaryExpr) bool {
	if n.Op != token.ADD || !hasString(n) {
		f.swap(n, n.OpPos, n.Op)
	}
	return n.Op != token.SHL && !isUnit(n.Y) && !isUnit(n.X)
}

// condition adds the mutants of the condition of an if: an error that is ignored, and the
// negation of any condition that is not a comparison.
func (f *finder) condition(cond ast.Expr) {
	switch c := cond.(type) {
	case *ast.BinaryExpr:
		if y, ok := c.Y.(*ast.Ident); ok && c.Op == token.NEQ && y.Name == "nil" && isError(c.X) {
			f.add(c, c.Pos(), 0, "false && ")
		}
	case *ast.Ident, *ast.CallExpr, *ast.SelectorExpr:
		f.add(c, c.Pos(), 0, "!")
	}
}

// call reports whether to visit the children of a call. The capacity of make is not
// behaviour.
func (f *finder) call(n *ast.CallExpr) bool {
	name, ok := n.Fun.(*ast.Ident)
	if !ok || name.Name != "make" {
		return true
	}
	if _, slice := n.Args[0].(*ast.ArrayType); slice && len(n.Args) == 2 {
		ast.Inspect(n.Args[1], f.visit) // the length
	}
	return false
}

// deletions adds the mutants without one call or one assignment. The deleted statement
// remains in a branch that never runs, so that its variables and imports are still used.
func (f *finder) deletions(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			if isUnobserved(s.X) {
				continue
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || isBlank(s) {
				continue
			}
		default:
			continue
		}
		text := string(f.src[offset(s.Pos()):offset(s.End())])
		f.add(s, s.Pos(), len(text), "if false { "+text+" }")
		f.all[len(f.all)-1].new = "(deleted)"
	}
}

// dropError adds the mutant that returns nil instead of an error. dropError reports whether
// to visit the returned expressions: callers do not use a value that is returned with an
// error.
func (f *finder) dropError(n *ast.ReturnStmt) bool {
	if len(n.Results) == 0 {
		return true
	}
	last := n.Results[len(n.Results)-1]
	if !isError(last) {
		return true
	}
	f.add(n, last.Pos(), int(last.End()-last.Pos()), "nil")
	if _, called := last.(*ast.CallExpr); called {
		ast.Inspect(last, f.visit)
	}
	return false
}

func (f *finder) number(n *ast.BasicLit) {
	value, err := strconv.ParseInt(n.Value, 0, 64)
	if n.Kind != token.INT || err != nil {
		return
	}
	for _, to := range []int64{value + 1, value - 1} {
		text := strconv.FormatInt(to, 10)
		if to < 0 {
			text = "(" + text + ")" // after a minus
		}
		f.add(n, n.Pos(), len(n.Value), text)
	}
}

var errorName = regexp.MustCompile(`^err$|^(err|Err)[A-Z]|Err$`)

// isError reports whether e has a name that errors have, or is a call that creates an error.
func isError(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return errorName.MatchString(e.Name)
	case *ast.SelectorExpr:
		of, ok := e.X.(*ast.Ident)
		return errorName.MatchString(e.Sel.Name) || ok && (of.Name == "errors" || of.Name == "fmt" && e.Sel.Name == "Errorf")
	case *ast.CallExpr:
		return isError(e.Fun)
	}
	return false
}

var (
	logMethod = regexp.MustCompile(`^(Debug|Info|Warn|Error|Log|LogAttrs)(Context)?$`)
	logName   = regexp.MustCompile(`^(log|logger|Logger|slog)$`)
)

// isUnobserved reports whether e is a call that unit tests need not detect: a call that
// logs, or a crash point. A crash point does nothing in a normal build; test/fences and
// test/crash test crash points.
func isUnobserved(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	var of string
	switch x := method.X.(type) {
	case *ast.Ident:
		of = x.Name
	case *ast.SelectorExpr:
		of = x.Sel.Name
	}
	return of == "crash" || logName.MatchString(of) && logMethod.MatchString(method.Sel.Name)
}

func isBlank(s *ast.AssignStmt) bool {
	name, ok := s.Lhs[0].(*ast.Ident)
	return ok && name.Name == "_" && len(s.Lhs) == 1
}

// isUnit reports whether e is a constant of package time, like time.Second.
func isUnit(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := s.X.(*ast.Ident)
	return ok && of.Name == "time" && ast.IsExported(s.Sel.Name)
}

// hasString reports whether one term of a sum is a string literal.
func hasString(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return hasString(e.X) || hasString(e.Y)
	case *ast.BasicLit:
		return e.Kind == token.STRING
	}
	return false
}

// short returns text on one line, truncated.
func short(text string) string {
	const most = 100
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
