package taskfile

import (
	"strings"
	"testing"
)

func TestProgramsOfTheImagesOfSkyPilot(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"a command", "run: git clone https://example.com/a", "run: git"},
		{"after another command", "run: cd /tmp && curl -O https://example.com | tar x", "run: curl"},
		{"with sudo and a variable", "setup: sudo A=1 rsync -a x y\nrun: x", "setup: rsync"},
		{"in an if", "run: if ! conda env list; then conda create -n a; fi", "run: conda"},
		{"in a substitution", `run: echo "$(git rev-parse HEAD)"`, "run: git"},
		{"templates", "run: ~/sky_templates/ray/start_cluster", "run: ~/sky_templates"},
		{"in both", "setup: wget x\nrun: ssh a", "setup: wget; run: ssh"},
		{"installed in setup", "setup: apt-get install -y git curl\nrun: git clone x && curl y", ""},
		{"installed by pip", "setup: pip install uv\nrun: uv run x", ""},
		{"installed by its script", "setup: |\n  sh Miniconda3-latest-Linux-x86_64.sh -b\nrun: conda activate a", ""},
		{"looked for", "run: if command -v git; then git status; fi", ""},
		{"an image", "resources: {image_id: ubuntu}\nrun: git clone x", ""},
		{"an argument", "run: echo git; pip list | grep curl", ""},
		{"a comment", "run: |\n  # git clone x\n  true", ""},
		{"part of a word", "run: gitlab-runner; ./git", ""},
		{"a function", "run: |\n  git() { echo $1; }\n  git x", ""},
	} {
		var got []string
		for _, f := range Check([]byte(tt.file), Overrides{}) {
			if rest, ok := strings.CutPrefix(f.Text, "uses "); ok && f.Severity == Warning && f.Line > 0 {
				got = append(got, f.Field+": "+strings.Split(rest, " of the images")[0])
			}
		}
		if text := strings.Join(got, "; "); text != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, text, tt.want)
		}
	}
	if _, warnings, err := Parse([]byte("run: git clone x")); err != nil || len(warnings) > 0 {
		t.Errorf("a submission: %q, %v", warnings, err)
	}
}
