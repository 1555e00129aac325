package task

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// AccessModes are the ones that Kubernetes knows for a claim.
var AccessModes = []string{"ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany", "ReadWriteOncePod"}

// MaxNodes is the most nodes that a task may have on any server.
const MaxNodes = 10_000

const (
	maxName      = 253 // characters of a task's name, as of any object's in Kubernetes
	maxLabel     = 63  // characters of a label's value and of a DNS-1123 label
	maxSubdomain = 253 // characters of a DNS-1123 subdomain
	maxImage     = 1024
)

var (
	nameForm      = regexp.MustCompile(`^[a-zA-Z0-9]+(?:[._-]{1,2}[a-zA-Z0-9]+)*$`) // SkyPilot's pattern, sky/task.py
	envForm       = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)                  // SkyPilot's pattern, sky/utils/schemas.py
	labelForm     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	subdomainForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

	// [host[:port]/]path[:tag][@digest], by the grammar of the distribution project.
	imageForm = regexp.MustCompile(`^(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::[0-9]+)?/)?` +
		`[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*` +
		`(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$`)
)

// Validate reports the first thing that would keep t from running, by its
// field. The error is of kind ErrInvalid.
func (t Task) Validate() error {
	for _, check := range []func() error{
		t.checkName, t.checkNodes, t.checkScripts, t.Resources.check, t.checkEnvs, t.checkVolumes,
	} {
		if err := check(); err != nil {
			return Error(ErrInvalid, err.Error())
		}
	}
	return nil
}

func (t Task) checkName() error {
	switch {
	case t.Name == "":
		return nil
	case len(t.Name) > maxName:
		return fmt.Errorf("name: %d characters are too many, at most %d", len(t.Name), maxName)
	case !nameForm.MatchString(t.Name):
		return fmt.Errorf("name: %s has to be letters and digits, joined by one or two of . _ -", Quote(t.Name))
	}
	return nil
}

func (t Task) checkNodes() error {
	if t.NumNodes < 0 || t.NumNodes > MaxNodes {
		return fmt.Errorf("num_nodes: %d is not between 1 and %d", t.NumNodes, MaxNodes)
	}
	return nil
}

func (t Task) checkScripts() error {
	if strings.TrimSpace(t.Run) == "" && strings.TrimSpace(t.Setup) == "" {
		return fmt.Errorf("run: a task needs a command to run")
	}
	return noNUL("run", t.Run, "setup", t.Setup, "workdir", t.Workdir)
}

func (r Resources) check() error {
	if _, err := r.CPU(); err != nil {
		return fmt.Errorf("resources.cpus: %w", err)
	}
	if _, err := r.RAM(); err != nil {
		return fmt.Errorf("resources.memory: %w", err)
	}
	if _, _, err := r.GPUs(); err != nil {
		return fmt.Errorf("resources.accelerators: %w", err)
	}
	if image := r.Image(); r.ImageID != "" && (len(image) > maxImage || !imageForm.MatchString(image)) {
		return fmt.Errorf("resources.image_id: %s is not the name of a container image", Quote(r.ImageID))
	}
	return nil
}

func (t Task) checkEnvs() error {
	for _, name := range slices.Sorted(maps.Keys(t.Envs)) {
		if !envForm.MatchString(name) {
			return fmt.Errorf("envs: %s is not a name of letters, digits and _ that starts with no digit", Quote(name))
		}
		if err := noNUL("envs."+name, t.Envs[name]); err != nil {
			return err
		}
	}
	return nil
}

func (t Task) checkVolumes() error {
	seen := map[string]string{}
	for _, dir := range slices.Sorted(maps.Keys(t.Volumes)) {
		volume, clean := t.Volumes[dir], path.Clean(dir)
		switch {
		case !strings.HasPrefix(dir, "/"):
			return fmt.Errorf("volumes: mount path %s is not absolute", Quote(dir))
		case clean == "/" || strings.Contains(dir, ":") || len(dir) > maxName:
			return fmt.Errorf("volumes: %s is not a path to mount at", Quote(dir))
		case clean == ScriptDir || strings.HasPrefix(clean, ScriptDir+"/"):
			return fmt.Errorf("volumes: %q is where the launcher keeps its own files", dir)
		case seen[clean] != "":
			return fmt.Errorf("volumes: %s and %s are the same mount path", Quote(seen[clean]), Quote(dir))
		case len(volume) > maxSubdomain || !subdomainForm.MatchString(volume):
			return fmt.Errorf("volumes.%s: %s is not the name of a volume or claim", dir, Quote(volume))
		}
		if err := noNUL("volumes", dir); err != nil {
			return err
		}
		seen[clean] = dir
	}
	return nil
}

// Validate reports the first thing that would keep v from being created, by its
// field. The error is of kind ErrInvalid.
func (v Volume) Validate() error {
	if err := v.check(); err != nil {
		return Error(ErrInvalid, err.Error())
	}
	return nil
}

func (v Volume) check() error {
	if v.Name == "" {
		return fmt.Errorf("name: a volume needs a name")
	}
	if limit := maxLabel - idLength - 1; len(v.Name) > limit || !labelForm.MatchString(v.Name) {
		return fmt.Errorf("name: %s has to be lower-case letters, digits and - (inside), at most %d characters", Quote(v.Name), limit)
	}
	if v.Size == "" {
		return fmt.Errorf("size: a volume needs a size, such as 10Gi")
	}
	if err := checkSize(v.Size); err != nil {
		return fmt.Errorf("size: %w", err)
	}
	if class := v.StorageClass; class != nil && *class != "" && (len(*class) > maxSubdomain || !subdomainForm.MatchString(*class)) {
		return fmt.Errorf("storage_class: %s is not the name of a storage class", Quote(*class))
	}
	for i, mode := range v.AccessModes {
		if !slices.Contains(AccessModes, mode) {
			return fmt.Errorf("access_modes: %s is not one of %s", Quote(mode), strings.Join(AccessModes, ", "))
		}
		if slices.Contains(v.AccessModes[:i], mode) {
			return fmt.Errorf("access_modes: %s stands there twice", mode)
		}
	}
	if slices.Contains(v.AccessModes, "ReadWriteOncePod") && len(v.AccessModes) > 1 {
		return fmt.Errorf("access_modes: ReadWriteOncePod goes with no other mode")
	}
	return nil
}

// noNUL takes pairs of field and text; no text may hold a NUL byte, which no
// environment or file name in a container can carry.
func noNUL(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if strings.ContainsRune(pairs[i+1], 0) {
			return fmt.Errorf("%s: holds a NUL character", pairs[i])
		}
	}
	return nil
}

// Quote returns s in quotes, cut to what fits into a sentence.
func Quote(s string) string {
	const most = 100
	if len(s) <= most {
		return strconv.Quote(s)
	}
	return strconv.Quote(strings.ToValidUTF8(s[:most], "")) + "..."
}
