package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
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
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root := newRootCommand(&env{lookup: func(string) (string, bool) { return "", false }})
	disableTags(root)
	header := &doc.GenManHeader{Section: "1", Source: root.Name(), Manual: "k8s-cli manual"} // SOURCE_DATE_EPOCH sets the date
	if err := doc.GenManTree(root, header, pages); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(string) error{
		"k8s-cli.bash": func(file string) error { return root.GenBashCompletionFileV2(file, true) },
		"_k8s-cli":     root.GenZshCompletionFile,
		"k8s-cli.fish": func(file string) error { return root.GenFishCompletionFile(file, true) },
		"k8s-cli.ps1":  root.GenPowerShellCompletionFileWithDesc,
	} {
		file := filepath.Join(completions, name)
		if err := write(file); err != nil {
			t.Fatal(err)
		}
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
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	plain := bytes.ReplaceAll(content, []byte(`\-`), []byte("-"))
	for _, text := range texts {
		if !bytes.Contains(plain, []byte(text)) {
			t.Errorf("%s lacks %q", file, text)
		}
	}
}
