package taskfile

import (
	"regexp"
	"slices"
	"strings"

	"k8s-cli/pkg/task"
)

// ofSkyPilot are programs of the default images of SkyPilot that task files of SkyPilot often call, and
// that small images do not have.
var ofSkyPilot = []string{"conda", "curl", "gcc", "git", "rsync", "ssh", "uv", "wget"}

// templates is a directory in the home directory of the default images of SkyPilot.
const templates = "~/sky_templates"

var (
	endsCommand = regexp.MustCompile("[;&|(){}`]|\\$\\(")
	assigns     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	installs    = regexp.MustCompile(`\b(install|add|command -v|which|type)\b`)
	beforeOther = []string{"sudo", "-E", "if", "then", "else", "elif", "while", "until", "do", "!", "time", "exec", "nohup", "env"}
)

// remarkPrograms adds a finding for each script that calls a program of SkyPilot's default images,
// unless the task names an image or a script installs or looks for the program. Whether the default
// image of a server has the program is unknown here, so a submission has no such warning.
func (d *decoder) remarkPrograms(t task.Spec) {
	if d.diagnostics == nil || slices.ContainsFunc(t.Resources.Alternatives(), func(r task.Resources) bool { return r.ImageID != "" }) {
		return
	}
	both := t.Setup + "\n" + t.Run
	for _, s := range []struct{ field, text string }{{"setup", t.Setup}, {"run", t.Run}} {
		var missing []string
		for _, name := range ofSkyPilot {
			if calls(s.text, name) && !provides(both, name) {
				missing = append(missing, name)
			}
		}
		if strings.Contains(s.text, templates) {
			missing = append(missing, templates)
		}
		if len(missing) > 0 {
			all := strings.Join(missing, ", ")
			text := "uses " + all + " of the images of SkyPilot, which the default image may not have; name an image in resources.image_id, or install in setup what the script needs"
			d.diagnostics.add(Finding{Field: s.field, Line: d.lines[s.field], Severity: Warning, Text: text})
		}
	}
}

// calls reports whether a script calls a program by its name.
func calls(script, program string) bool {
	for line := range strings.Lines(script) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") || !strings.Contains(line, program) {
			continue
		}
		for _, command := range endsCommand.Split(line, -1) {
			words := strings.Fields(command)
			for len(words) > 1 && (slices.Contains(beforeOther, words[0]) || assigns.MatchString(words[0])) {
				words = words[1:]
			}
			if len(words) > 0 && words[0] == program {
				return true
			}
		}
	}
	return false
}

// provides reports whether scripts install a program, look for it, or define a function of its name.
func provides(scripts, program string) bool {
	word := regexp.MustCompile(`(^|[^A-Za-z0-9_])(mini)?` + regexp.QuoteMeta(program) + `([^A-Za-z0-9_]|$)`)
	for line := range strings.Lines(scripts) {
		at := installs.FindStringIndex(line)
		if at != nil && word.MatchString(line[at[1]:]) || strings.HasPrefix(strings.TrimSpace(line), program+"()") {
			return true
		}
	}
	return program == "conda" && strings.Contains(strings.ToLower(scripts), "mini") && strings.Contains(scripts, ".sh") ||
		program == "uv" && strings.Contains(scripts, "astral.sh/uv")
}
