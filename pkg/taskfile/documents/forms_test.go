package documents_test

import (
	"strings"
	"testing"

	"k8s-cli/pkg/taskfile"
	"k8s-cli/pkg/taskfile/documents"
)

// Comments and directives belong to the document that follows, a file may be in UTF-16, and the version
// of YAML does not matter.
func TestFormsOfOneDocument(t *testing.T) {
	const body = "name: a\nrun: echo one\n"
	utf16 := func(text string, low bool) string {
		var b strings.Builder
		for _, c := range "\uFEFF" + text {
			pair := []byte{byte(c >> 8), byte(c)}
			if low {
				pair[0], pair[1] = pair[1], pair[0]
			}
			b.Write(pair)
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"a directive": "%YAML 1.2\n---\n" + body, "a comment and a directive": "# one\n\n%YAML 1.1\n---\n" + body + "...\n",
		"a byte order mark": "\uFEFF---\n" + body, "UTF-16": utf16(body, true), "UTF-16 of the other order": utf16("---\n"+body, false),
		"an empty document first": "---\r\n# nothing\r\n---\r\n" + body, "an empty document last": body + "---\n# nothing\n", "an end": body + "...\n# nothing\n",
	} {
		f, err := documents.Split([]byte(text))
		if err != nil || f.Several() || len(f.Tasks) != 1 {
			t.Errorf("%s: %+v, %v", name, f, err)
			continue
		}
		if got, _, err := taskfile.Parse(f.Tasks[0]); err != nil || got.Name != "a" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	f, err := documents.Split([]byte(body + "...\n%YAML 1.2\n---\n" + body))
	if err != nil || len(f.Tasks) != 2 {
		t.Fatalf("two tasks: %+v, %v", f, err)
	}
	for _, text := range f.Tasks {
		if _, _, err := taskfile.Parse(text); err != nil {
			t.Error(err)
		}
	}
}
