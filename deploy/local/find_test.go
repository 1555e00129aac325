package main

import (
	"os/exec"
	"testing"

	"k8s-cli/deploy/local/existing"
)

func TestShellReadsAssignments(t *testing.T) {
	c := existing.Cluster{Files: "/it's/a $(kube) config", Context: "kind-`x`"}
	for _, tt := range []struct {
		reach existing.Reach
		want  string
	}{
		{existing.Reach{}, "--listen|127.0.0.1:8000|"},
		{existing.Reach{Advertise: "http://h:8000"}, "--listen|127.0.0.1:8000|--advertise-url|http://h:8000|"},
		{
			existing.Reach{FilesListen: "[fd00::1]:8000", Advertise: "http://[fd00::1]:8000"},
			"--listen|127.0.0.1:8000|--files-listen|[fd00::1]:8000|--advertise-url|http://[fd00::1]:8000|",
		},
	} {
		script := assignments(c, "127.0.0.1:8000", tt.reach) + `printf '%s|' "$KUBECONFIG" "$context" "${flags[@]}"`
		out, err := exec.CommandContext(t.Context(), "bash", "-euc", script).CombinedOutput()
		if want := c.Files + "|" + c.Context + "|" + tt.want; err != nil || string(out) != want {
			t.Errorf("bash printed %q, %v; want %q", out, err, want)
		}
	}
}
