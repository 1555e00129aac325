package features

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s-cli/pkg/client"
	"k8s-cli/test/testkit/must"
)

// Variables arrive in setup and run byte for byte: in an image with bash, in an image without bash, and
// for a user who is not root and whose root file system is read-only.
func TestVariablesInImages(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	values := map[string]string{
		"EMPTY": "", "BLANKS": "  a  b ", "NEWLINES": "a\nb\n\n", "QUOTES": `'"` + "`", "DOLLAR": "$HOME $(id) ${X} $$", "BACKSLASH": `a\nb\\`, "UTF8": "héllo €",
		"CONTROL": "\x01\x1b[2J", "EQUALS": "a=b=c", "STAR": "*", "TILDE": "~", "DASH": "-n", "LARGE": strings.Repeat("x", 100_000), "PS4": "+ ", "TMOUT": "600",
		"CDPATH": "/usr", "MAIL": "m", "OPTARG": "o", "REPLY": "r", "ENV": "/none", "LANG": "C.UTF-8", "HISTFILE": "/none", "COLUMNS": "17", "LINES": "3", "PROMPT_COMMAND": "echo no",
		"http_proxy": "http://proxy:1", "K8S_CLI_PAUSE": "p",
	}
	for word := range strings.FieldsSeq("dir begin ending code pid from to name left rank why again own last known write place script query size path host port base line text seed rest after pause missing packed status domain home variables process") {
		values[word] = "value of " + word
	}
	envs := must.Encode(t, values)
	if len(values) < 60 {
		t.Fatalf("%d variables", len(values))
	}
	const show = "base64 -w 0 /proc/self/environ; echo"
	for name, more := range map[string]string{
		"bash":    "",
		"no bash": "resources: {image_id: k8s-cli.local/busybox:1}\n",
		"not root": "config: {kubernetes: {pod_config: {spec: {securityContext: {runAsUser: 1000, runAsNonRoot: true}, " +
			"containers: [{securityContext: {readOnlyRootFilesystem: true}}]}}}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := ann.log(t, ann.submit(t, fmt.Sprintf("%senvs: %s\nsetup: %s\nrun: %s\n", more, envs, show, show)), client.LogOptions{})
			scripts := strings.Fields(log)
			if len(scripts) != 2 {
				t.Fatalf("the log has %d lines: %.300s", len(scripts), log)
			}
			for i, line := range scripts {
				raw, err := base64.StdEncoding.DecodeString(line)
				if err != nil {
					t.Fatalf("script %d: %v", i, err)
				}
				got := map[string]string{}
				for v := range strings.SplitSeq(string(raw), "\x00") {
					name, value, _ := strings.Cut(v, "=")
					got[name] = value
				}
				for _, name := range slices.Sorted(maps.Keys(values)) {
					if got[name] != values[name] {
						t.Errorf("script %d: %s is %.80q, want %.80q", i, name, got[name], values[name])
					}
				}
			}
		})
	}
}
