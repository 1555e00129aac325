package task

import (
	"strings"
	"testing"
)

func TestHints(t *testing.T) {
	for _, tt := range []struct {
		reason, message string
		code            *int
		want            string // part of the hint; empty if there is none
	}{
		{"", "", nil, ""},
		{"NobodyKnows", "x", nil, ""},
		{"Error", "", nil, ""},
		{"Error", "exit code 3", new(3), "last lines"},
		{"Error", "exit code 3" + SetupFailedSuffix, new(3), "output of setup"},
		{"Error", "exit code 127" + SetupFailedSuffix, new(127), "The image does not have a command"},
		{"Error", "", new(126), "not executable"},
		{"Error", "", new(137), "SIGKILL"},
		{"Error", "", new(143), "SIGTERM"},
		{"Error", "", new(139), "SIGSEGV"},
		{"OOMKilled", "", new(137), "resources.memory"},
		{"ErrImagePull", `dial tcp: lookup registry.invalid: no such host`, nil, "cannot reach the registry"},
		{"ErrImagePull", `failed to do request: dial tcp 10.0.0.1:443: i/o timeout`, nil, "cannot reach the registry"},
		{"ImagePullBackOff", `Back-off pulling image "x": ErrImagePull: docker.io/library/x:latest: not found`, nil, "no such image"},
		{"ErrImagePull", `pull access denied, repository does not exist or may require authorization: insufficient_scope: authorization failed`, nil, "pull secret"},
		{"ErrImagePull", `failed to authorize: unexpected status: 401 Unauthorized`, nil, "pull secret"},
		{"ErrImagePull", `no match for platform in manifest: not found`, nil, "architecture of the machine"},
		{"FailedCreatePodSandBox", `failed to set up sandbox: plugin type="bridge" failed`, nil, "because of its network"},
		{"FailedCreatePodSandBox", `no runtime for "none" is configured`, nil, "runtimeClassName"},
		{"OutOfcpu", "Node didn't have enough resource: cpu", nil, "less capacity"},
		{"OutOfnvidia.com/gpu", "Node didn't have enough resource", nil, "less capacity"},
		{"ImagePullBackOff", `Back-off pulling image "x"`, nil, "why the image cannot be pulled"},
	} {
		got := HintFor(tt.reason, tt.message, tt.code)
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s: %q, want %q", tt.reason, tt.message, got, tt.want)
		}
	}
}

// TestHintsAreSentences checks that a hint is one sentence of at most 160 bytes.
func TestHintsAreSentences(t *testing.T) {
	for reason, h := range hints {
		if !strings.HasSuffix(h, ".") || strings.Count(h, ". ") > 0 || strings.Contains(h, "\n") || len(h) > 160 {
			t.Errorf("%s: %q", reason, h)
		}
	}
}
