package features

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s-cli/test/testkit"
)

// The default image contains Python. The local cluster has a substitute for the image, with
// Python and numpy of Debian.
func TestTheDefaultImageHasPython(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	for name, c := range map[string]struct{ run, want string }{
		"numpy":   {`python -c 'import numpy; print(numpy.zeros(3))'`, "[0. 0. 0.]\n"},
		"library": {`python3 -c 'import ctypes, json, sqlite3, ssl, sys; print(json.dumps(sys.version_info.major))'`, "3\n"},
		"names":   {`python -c 'import sys; print(sys.prefix, sys.executable)'`, "/usr /usr/local/bin/python\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(ann.home, name+".yaml")
			testkit.Write(t, file, "name: "+name+"\n"+yaml("run", c.run))
			got := ann.cli(t, "jobs", "submit", file).ok(t)
			if !strings.HasSuffix(got, "\n"+c.want) {
				t.Errorf("the task printed\n%s\nwant an end of %q", got, c.want)
			}
		})
	}
}
