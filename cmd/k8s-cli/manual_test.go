package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"k8s-cli/test/testkit/must"
)

var manualDir = flag.String("write", "", "write the manual and the completions to this `directory`")

// TestManual generates a manual page for each command and the completions for each shell.
// With -write, the files remain for make release.
func TestManual(t *testing.T) {
	dir := *manualDir
	if dir == "" {
		dir = t.TempDir()
	}
	pages, completions := filepath.Join(dir, "man", "man1"), filepath.Join(dir, "completions")
	for _, d := range []string{pages, completions} {
		must.Succeed(t, os.MkdirAll(d, 0o755))
	}
	root := newRootCommand(&env{lookup: func(string) (string, bool) { return "", false }})
	disableTags(root)
	header := &doc.GenManHeader{Section: "1", Source: root.Name(), Manual: "k8s-cli manual"} // SOURCE_DATE_EPOCH sets the date
	must.Succeed(t, doc.GenManTree(root, header, pages))
	for name, write := range map[string]func(string) error{
		"k8s-cli.bash": func(file string) error { return root.GenBashCompletionFileV2(file, true) },
		"_k8s-cli":     root.GenZshCompletionFile,
		"k8s-cli.fish": func(file string) error { return root.GenFishCompletionFile(file, true) },
		"k8s-cli.ps1":  root.GenPowerShellCompletionFileWithDesc,
	} {
		file := filepath.Join(completions, name)
		must.Succeed(t, write(file))
		holds(t, file, "k8s-cli")
	}
	holds(t, filepath.Join(pages, "k8s-cli.1"), ".TH", "k8s-cli-jobs")
	holds(t, filepath.Join(pages, "k8s-cli-jobs-submit.1"), "--grid", "--api-url", "103 stopped")
}

// disableTags removes the date of the build from the pages, so that the pages are
// reproducible.
func disableTags(cmd *cobra.Command) {
	cmd.DisableAutoGenTag = true
	for _, c := range cmd.Commands() {
		disableTags(c)
	}
}

func holds(t *testing.T, file string, texts ...string) {
	t.Helper()
	content := must.Read(t, file)
	plain := bytes.ReplaceAll(content, []byte(`\-`), []byte("-"))
	for _, text := range texts {
		if !bytes.Contains(plain, []byte(text)) {
			t.Errorf("%s lacks %q", file, text)
		}
	}
}
