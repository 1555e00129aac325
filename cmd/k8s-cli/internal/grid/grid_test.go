package grid

import (
	"errors"
	"strings"
	"testing"

	"k8s-cli/cmd/k8s-cli/internal/exit"
)

func TestGrid(t *testing.T) {
	for _, tt := range []struct {
		said []string
		want string // the points, or the error
	}{
		{nil, ""},
		{[]string{"LR=0.1"}, "LR=0.1"},
		{[]string{"LR=0.1,0.01", "B=a=b,"}, "LR=0.1 B=a=b|LR=0.1 B=|LR=0.01 B=a=b|LR=0.01 B="},
		{[]string{`A="a,b",c,"d ""e"""`}, `A=a,b|A=c|A=d "e"`},
		{[]string{"A=\"a\"\nb"}, "--grid A: a line break stands outside of quotes; quote a value that contains a comma: NAME='\"a,b\",c'"},
		{[]string{`A=a"b,c`}, `A=a"b|A=c`},
		{[]string{`A="a`}, `--grid A: parse error on line 1, column 3: extraneous or missing " in quoted-field; quote a value that contains a comma: NAME='"a,b",c'`},
		{[]string{"LR"}, `--grid "LR" must have the form NAME=VALUE,VALUE...`},
		{[]string{"=1"}, `--grid "=1" must have the form NAME=VALUE,VALUE...`},
		{[]string{"A=1,2", "A=3"}, "--grid: duplicate variable A"},
		{[]string{"A=" + strings.Repeat(",", 999), "B=" + strings.Repeat(",", 100)}, "--grid: more than 100000 combinations; split the sweep"},
	} {
		points, err := Parse(tt.said)
		var texts []string
		for _, p := range points {
			for name, value := range p.Envs {
				if !strings.Contains(" "+p.Text+" ", " "+name+"="+value+" ") {
					t.Errorf("%q: %s has not %s=%s", tt.said, p.Text, name, value)
				}
			}
			texts = append(texts, p.Text)
		}
		got := strings.Join(texts, "|")
		if err != nil {
			got = err.Error()
			if _, ok := errors.AsType[*exit.Error](err); !ok {
				t.Errorf("%q: %v has no exit code", tt.said, err)
			}
		}
		if got != tt.want {
			t.Errorf("%q: %s, want %s", tt.said, got, tt.want)
		}
	}
}
