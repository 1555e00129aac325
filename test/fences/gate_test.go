package fences

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s-cli/test/testkit/must"
)

// The gate runs a test for each promise of docs/promises.md, and a test for each way in. Each
// line of the list of the gate names a feature test that exists.
func TestTheGateCoversEveryPromise(t *testing.T) {
	list := read(t, "test/features/gate.txt")
	sources, err := filepath.Glob(filepath.Join(root, "test/features/*_test.go"))
	must.Succeed(t, err)
	var code strings.Builder
	for _, path := range sources {
		text := must.Read(t, path)
		code.Write(text)
	}
	covered := map[string][]string{} // names of tests by promise or way in
	for _, m := range regexp.MustCompile(`(?m)^(Test\w+)(?: +# (.+))?$`).FindAllStringSubmatch(list, -1) {
		if !strings.Contains(code.String(), "\nfunc "+m[1]+"(t *testing.T)") {
			t.Errorf("test/features/gate.txt: there is no test %s", m[1])
		}
		covered[m[2]] = append(covered[m[2]], m[1])
	}
	_, promises, _ := strings.Cut(read(t, "docs/promises.md"), "\n## Promises\n")
	promises, _, _ = strings.Cut(promises, "\n##")
	numbered := regexp.MustCompile(`(?m)^(\d+)\. \*\*`)
	places := numbered.FindAllStringSubmatchIndex(promises, -1)
	if len(places) < 13 {
		t.Fatalf("docs/promises.md lists %d promises", len(places))
	}
	for i, place := range places {
		end := len(promises)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		number, text := promises[place[2]:place[3]], promises[place[0]:end]
		named := false
		for _, test := range covered[number] {
			named = named || strings.Contains(text, "`"+test+"`")
		}
		if !named {
			t.Errorf("promise %s names no test of the gate; test/features/gate.txt has %q for it", number, covered[number])
		}
	}
	for _, way := range []string{"CLI", "REST", "NATS", "Python client", "dashboard"} {
		if len(covered[way]) == 0 {
			t.Errorf("test/features/gate.txt has no test for the way in %q", way)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	return string(must.Read(t, filepath.Join(root, path)))
}
