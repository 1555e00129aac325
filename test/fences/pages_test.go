package fences

import (
	"flag"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/test/testkit/must"
)

var update = flag.Bool("update", false, "write the list of packages in docs/architecture.md anew")

// The list of packages has an item for each package, with the first sentence of the comment of
// the package.
func TestArchitectureListsThePackages(t *testing.T) {
	const page, begin, end = "docs/architecture.md", "<!-- packages -->\n", "<!-- end of packages -->"
	before, rest, ok := strings.Cut(read(t, page), begin)
	got, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no place for the packages", page)
	}
	want := listOfPackages(t)
	if *update {
		must.Succeed(t, os.WriteFile(filepath.Join(root, page), []byte(before+begin+want+end+after), 0o644))
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got); go test ./test/fences -run Packages -update writes it anew:\n%s", page, diff)
	}
}

// listOfPackages leaves out packages that only tests import.
func listOfPackages(t *testing.T) string {
	t.Helper()
	sentences := map[string]string{} // by package; empty if the package has no comment
	for file := range sources(t) {
		home := filepath.ToSlash(filepath.Dir(file))
		if sentences[home] != "" || strings.HasSuffix(home, "test") || !strings.HasPrefix(home, "pkg/") && !strings.HasPrefix(home, "cmd/") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.PackageClauseOnly|parser.ParseComments)
		must.Succeed(t, err)
		sentences[home] = new(doc.Package).Synopsis(parsed.Doc.Text())
	}
	var list strings.Builder
	list.WriteString("\n")
	for _, home := range slices.Sorted(maps.Keys(sentences)) {
		says := regexp.MustCompile(`^(?:Package|Command) \S+ (.+)\.$`).FindStringSubmatch(sentences[home])
		if says == nil {
			t.Errorf("package %s: the comment must begin with a sentence of the form \"Package NAME does something.\": %q", home, sentences[home])
			continue
		}
		fmt.Fprintf(&list, "- `%s` %s\n", home, says[1])
	}
	return list.String() + "\n"
}

var (
	block   = regexp.MustCompile("(?ms)^ *(?:```|~~~).*?^ *(?:```|~~~) *$")
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	sign    = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	place   = regexp.MustCompile("`((?:pkg|cmd|test|deploy|docs|clients|examples)/[\\w./-]+)`")
)

// TestLinksOfPages checks that each link to a file of the repository leads to a file, and to a
// heading if the link names one.
func TestLinksOfPages(t *testing.T) {
	pages := pagesOfTree(t)
	if len(pages) < 40 {
		t.Fatalf("%d pages", len(pages))
	}
	for page, text := range pages {
		for _, m := range link.FindAllStringSubmatch(block.ReplaceAllString(text, ""), -1) {
			path, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(path, ":") {
				continue
			}
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: the link %s leads to no file", page, m[1])
			} else if fragment != "" && !slices.Contains(anchors(pages[target]), fragment) {
				t.Errorf("%s: the link %s leads to no heading", page, m[1])
			}
		}
	}
}

// anchors returns the names by which links find the headings of a page, as GitHub derives them.
func anchors(text string) (all []string) {
	for _, m := range heading.FindAllStringSubmatch(block.ReplaceAllString(text, ""), -1) {
		plain := sign.ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(plain, " ", "-"))
	}
	return all
}

// TestPathsOfPages checks that the files and the directories that the pages name exist.
func TestPathsOfPages(t *testing.T) {
	found := 0
	for page, text := range pagesOfTree(t) {
		for _, m := range place.FindAllStringSubmatch(text, -1) {
			found++
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil && filepath.Dir(page) == "docs" {
				t.Errorf("%s: there is no %s", page, m[1])
			}
		}
	}
	if found == 0 {
		t.Error("no page names a file")
	}
}

func pagesOfTree(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "dist") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			pages[name] = read(t, name)
		}
		return nil
	})
	must.Succeed(t, err)
	return pages
}

// TestPromisesNameTests checks that the tests and the fault scenarios that show the promises exist.
func TestPromisesNameTests(t *testing.T) {
	const page = "docs/promises.md"
	var code strings.Builder
	for _, top := range []string{"pkg", "cmd", "test"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			code.Write(text)
			return err
		})
		must.Succeed(t, err)
	}
	names := regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`").FindAllStringSubmatch(read(t, page), -1)
	if len(names) < 40 {
		t.Fatalf("%s names %d tests", page, len(names))
	}
	for _, m := range names {
		if !strings.Contains(code.String(), "\nfunc "+m[1]+"(") {
			t.Errorf("%s: there is no test %s", page, m[1])
		}
	}
	scenarios := read(t, "test/faults/scenarios.go")
	for _, list := range regexp.MustCompile("scenarios? ((?:`[a-z]+`(?:, )?)+)").FindAllStringSubmatch(read(t, page), -1) {
		for _, name := range regexp.MustCompile("[a-z]+").FindAllString(list[1], -1) {
			if !strings.Contains(scenarios, fmt.Sprintf("name: %q", name)) {
				t.Errorf("%s: there is no fault scenario %s", page, name)
			}
		}
	}
}
