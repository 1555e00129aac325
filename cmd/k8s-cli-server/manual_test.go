package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra/doc"

	"k8s-cli/pkg/release"
	"k8s-cli/test/testkit/must"
)

var manualDir = flag.String("write", "", "write the manual to this `directory`")

// TestManual generates the manual page. With -write, the page remains for make release.
func TestManual(t *testing.T) {
	dir := *manualDir
	if dir == "" {
		dir = t.TempDir()
	}
	t.Setenv("HOME", "/root") // makes the default of --data-dir independent of the user who builds the release
	dir = filepath.Join(dir, "man", "man1")
	must.Succeed(t, os.MkdirAll(dir, 0o755))
	cmd := command(&config{})
	cmd.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Source: cmd.Name(), Manual: "k8s-cli manual"} // SOURCE_DATE_EPOCH sets the date
	must.Succeed(t, doc.GenManTree(cmd, header, dir))
	page, err := os.ReadFile(filepath.Join(dir, "k8s-cli-server.1"))
	if err != nil || !bytes.Contains(bytes.ReplaceAll(page, []byte(`\-`), []byte("-")), []byte("--nats-url")) {
		t.Errorf("%v\n%s", err, page)
	}
}

func TestVersionIsPrinted(t *testing.T) {
	cmd := command(&config{})
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--version"})
	must.Succeed(t, cmd.Execute())
	if want := release.Read().VersionLine("k8s-cli-server") + "\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestVersionIsNoSetting(t *testing.T) {
	cmd := command(&config{})
	lookup := func(name string) (string, bool) { return "1.2.3", name == "K8S_CLI_VERSION" }
	if err := (&config{}).fromEnvironment(cmd.Flags(), lookup); err != nil {
		t.Error(err)
	}
}
