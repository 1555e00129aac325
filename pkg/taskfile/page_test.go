package taskfile

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	file "k8s-cli/pkg/taskfile/documents"
	"k8s-cli/test/testkit/must"
)

// page is the user documentation of task files.
const page = "../../docs/taskfile.md"

func readPage(t *testing.T) string {
	t.Helper()
	return string(must.Read(t, page))
}

// TestPageShowsTheTables checks that the tables in the page equal the tables of fields.
func TestPageShowsTheTables(t *testing.T) {
	const begin, end = "<!-- tables -->\n", "<!-- end of tables -->"
	text := readPage(t)
	before, rest, ok := strings.Cut(text, begin)
	got, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatal("the page has no place for the tables")
	}
	want := tablesOfPage()
	if *update {
		must.Succeed(t, os.WriteFile(page, []byte(before+begin+want+end+after), 0o644))
		return
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got); go test -update writes it anew:\n%s", page, diff)
	}
}

func tablesOfPage() string {
	var b strings.Builder
	for _, v := range []struct {
		severity severity
		title    string
	}{
		{isHonoured, "| honoured | what it becomes | forms |\n|---|---|---|"},
		{isIgnored, "| accepted with a warning | why |\n|---|---|"},
		{isRefused, "| error | why |\n|---|---|"},
	} {
		fmt.Fprintf(&b, "\n%s\n", v.title)
		for _, row := range rowsOfPage(v.severity) {
			fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(row.names, ", "), row.text)
		}
	}
	return b.String() + "\n"
}

// A rowOfPage describes the fields that have the same text.
type rowOfPage struct {
	names []string
	text  string
}

// rowsOfPage returns the rows of one table.
func rowsOfPage(s severity) (rows []*rowOfPage) {
	byText := map[string]*rowOfPage{}
	for _, table := range allTables() {
		for _, name := range order(table.fields) {
			f := table.fields[name]
			if f.severity != s || f.text == "" || strings.HasPrefix(name, "_") || f.text == forItself {
				continue
			}
			text := f.text
			if s == isHonoured {
				text += " | " + f.forms
			}
			if byText[text] == nil {
				byText[text] = &rowOfPage{text: text}
				rows = append(rows, byText[text])
			}
			byText[text].names = append(byText[text].names, "`"+table.path+name+"`")
		}
	}
	return rows
}

// order returns the fields with the most common fields first.
func order(s schema) []string {
	first := []string{"name", "num_nodes", "workdir", "setup", "run", "envs", "volumes", "cpus", "memory", "accelerators", "gpus", "image_id"}
	place := func(name string) int {
		if i := slices.Index(first, name); i >= 0 {
			return i
		}
		return len(first)
	}
	return slices.SortedFunc(maps.Keys(s), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
}

// TestPageShowsFilesThatAreAccepted checks that the examples in the page are valid.
func TestPageShowsFilesThatAreAccepted(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(readPage(t), -1)
	if len(blocks) < 3 {
		t.Fatalf("the page has %d examples", len(blocks))
	}
	for _, b := range blocks {
		f, err := file.Split([]byte(b[1]))
		if err != nil {
			t.Errorf("%v:\n%s", err, b[1])
		}
		for _, text := range f.Tasks {
			if _, _, err := Parse(text); err != nil {
				t.Errorf("%v:\n%s", err, text)
			}
		}
	}
}

// TestPageNamesTheVariables checks that the page names every variable that k8s-cli sets.
func TestPageNamesTheVariables(t *testing.T) {
	text := readPage(t)
	for _, name := range task.Variables() {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("the page does not name %s", name)
		}
	}
}
