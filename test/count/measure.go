package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// A file is the measurements of one source file.
type file struct {
	name       string
	test       bool // or of a tool of the tests
	lines      int
	code       int
	functions  []function
	interfaces map[string]*ast.InterfaceType
}

// A function is a declared function or method.
type function struct {
	name string
	of   string // name of the receiver's type, "" for a function
	code int
}

// measure reads all sources below root, except generated files, testdata and hidden
// directories.
func measure(root fs.FS) (all []file, err error) {
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (base == "testdata" || len(base) > 1 && base[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		f, err := measureFile(name, src)
		if f != nil {
			all = append(all, *f)
		}
		return err
	})
	return all, err
}

// measureFile returns nil for a generated file.
func measureFile(name string, src []byte) (*file, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(parsed) {
		return nil, err
	}
	code := codeLines(src)
	f := &file{
		name: name, lines: bytes.Count(src, []byte("\n")), interfaces: map[string]*ast.InterfaceType{},
		test: strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "test/"),
	}
	for _, is := range code {
		if is {
			f.code++
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			f.functions = append(f.functions, functionOf(n, set, code))
		case *ast.TypeSpec:
			if i, ok := n.Type.(*ast.InterfaceType); ok {
				f.interfaces[n.Name.Name] = i
			}
		}
		return true
	})
	return f, nil
}

// codeLines reports for each line, from 1, whether it contains code.
func codeLines(src []byte) []bool {
	set := token.NewFileSet()
	in := set.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(in, src, nil, 0) // the scanner skips comments
	code := make([]bool, bytes.Count(src, []byte("\n"))+2)
	for {
		pos, tok, text := s.Scan()
		switch {
		case tok == token.EOF:
			return code
		case tok == token.SEMICOLON && text == "\n": // inserted by the scanner
			continue
		}
		first := in.Line(pos)
		for i := range strings.Count(text, "\n") + 1 {
			code[first+i] = true
		}
	}
}

func functionOf(d *ast.FuncDecl, set *token.FileSet, code []bool) function {
	begin, end := set.Position(d.Pos()), set.Position(d.End())
	f := function{name: fmt.Sprintf("%s:%d %s", begin.Filename, begin.Line, d.Name.Name)}
	for _, is := range code[begin.Line : end.Line+1] {
		if is {
			f.code++
		}
	}
	if d.Recv == nil {
		return f
	}
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && f.of == "" {
			f.of = id.Name
		}
		return f.of == ""
	})
	return f
}

// interfacesOf returns how many methods each interface has, including the methods of
// embedded interfaces of this project.
func interfacesOf(files []file) map[string]int {
	byName := map[string]*ast.InterfaceType{} // by directory and name, and by package and name
	for _, f := range files {
		for name, i := range f.interfaces {
			byName[path.Dir(f.name)+"."+name] = i
			byName[path.Base(path.Dir(f.name))+"."+name] = i
		}
	}
	methods := map[string]int{}
	for _, f := range files {
		for name, i := range f.interfaces {
			methods[path.Dir(f.name)+"."+name] = width(i, path.Dir(f.name), byName)
		}
	}
	return methods
}

func width(i *ast.InterfaceType, dir string, byName map[string]*ast.InterfaceType) (n int) {
	for _, m := range i.Methods.List {
		switch t := m.Type.(type) {
		case *ast.FuncType:
			n += len(m.Names)
		case *ast.Ident:
			if embedded := byName[dir+"."+t.Name]; embedded != nil {
				n += width(embedded, dir, byName)
			}
		case *ast.SelectorExpr:
			if of, ok := t.X.(*ast.Ident); ok {
				if embedded := byName[of.Name+"."+t.Sel.Name]; embedded != nil {
					n += width(embedded, of.Name, byName)
				}
			}
		}
	}
	return n
}
