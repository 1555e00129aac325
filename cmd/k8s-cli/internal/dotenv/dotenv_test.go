package dotenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got, err := Parse("f", "\ufeff# comment\n\n"+
		"A=1\nexport B = two words  \nEMPTY=\nNONE= # comment\nURL=http://x/#part?a=b\nNOTE=a # comment\r\n"+
		`S='it is $HOME \n # literal'`+" # comment\n"+
		`D="a\tb \"c\" \\ \$HOME $HOME"`+"\n"+
		"KEY=\"first\nsecond\n\"\nLAST='x\ny'")
	want := map[string]string{
		"A": "1", "B": "two words", "EMPTY": "", "NONE": "", "URL": "http://x/#part?a=b", "NOTE": "a",
		"S": `it is $HOME \n # literal`, "D": "a\tb \"c\" \\ $HOME $HOME", "KEY": "first\nsecond\n", "LAST": "x\ny",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, (-want +got):\n%s", err, diff)
	}
}

func TestErrorsNameTheLineAndNoValue(t *testing.T) {
	const secret = "hunter2"
	for text, want := range map[string]string{
		"A=1\n" + secret + "\n":                "f:2: want NAME=VALUE",
		"A=1\n\n1B=" + secret:                  "f:3: want NAME=VALUE",
		"my-token=" + secret:                   "f:1: want NAME=VALUE",
		"A='x\ny'\nB=\"" + secret:              `f:3: the quote " is not closed`,
		"A='" + secret:                         "f:1: the quote ' is not closed",
		`A="` + secret + `\x"`:                 "f:1: unknown escape",
		"A='" + secret + "' " + secret:         "f:1: text after the closing quote",
		"A=" + secret + "\n#\nA=" + secret:     "f:3: duplicate variable A",
		"export\nexport A=" + secret:           "f:1: want NAME=VALUE",
		"A=\"two\nlines\"\n\n= " + secret + "": "f:4: want NAME=VALUE",
	} {
		if _, err := Parse("f", text); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: the error is %v, want %s", text, err, want)
		}
	}
}

func TestLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "job.env")
	if err := os.WriteFile(file, []byte("LR=1e-5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Load(file); err != nil || got["LR"] != "1e-5" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := Load(file + "x"); !os.IsNotExist(err) {
		t.Errorf("a file that does not exist: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("A=1\nB='x\ny' # z\n")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = Parse("f", text) })
}
