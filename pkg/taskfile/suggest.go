package taskfile

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"k8s-cli/pkg/task/problem"
)

// otherNames maps what users of other programs write to the field of a task, or to an advice, which
// contains a space.
var otherNames = map[string]string{
	"args":         "run",
	"cmd":          "run",
	"command":      "run",
	"commands":     "run",
	"container":    "resources.image_id",
	"cwd":          "workdir",
	"disk":         "resources.ephemeral_storage",
	"entrypoint":   "run",
	"image":        "resources.image_id",
	"limits":       "write cpus, memory and accelerators",
	"mem":          "resources.memory",
	"metadata":     "write name, annotations and resources.labels",
	"mounts":       "volumes",
	"parallelism":  "num_nodes",
	"ram":          "resources.memory",
	"replicas":     "num_nodes",
	"requests":     "write cpus, memory and accelerators",
	"retries":      "resources.job_recovery",
	"script":       "run",
	"spec":         "write the fields of the task without spec",
	"timeout":      "max_duration",
	"tolerations":  "config.kubernetes.pod_config",
	"nodeselector": "config.kubernetes.pod_config",
	"working_dir":  "workdir",
	"workingdir":   "workdir",
}

// unknown returns the error for a key that s does not have. The error suggests the nearest
// key of s or of another table.
func (d *decoder) unknown(key string, s schema) error {
	tables := d.tables()
	name := otherNames[strings.ToLower(key)]
	switch {
	case len(tables) == 0:
		name = nearest(key, maps.Keys(s))
	case strings.Contains(name, " "):
		return d.rejected(problem.UnknownField, "unknown field; %s", name)
	case name != "":
		name = d.relative(name)
	default:
		name = nearest(key, maps.Keys(s))
	}
	for i := 0; i < len(tables) && name == ""; i++ {
		if near := nearest(key, maps.Keys(tables[i].fields)); near != "" {
			name = tables[i].path + near
		}
	}
	switch _, here := s[name]; {
	case name != "" && !here && len(tables) > 0 && len(d.steps) > 1 && !strings.Contains(name, "."):
		return d.rejected(problem.UnknownField, "unknown field, did you mean %s at the top level of the task?", name)
	case name != "":
		return d.rejected(problem.UnknownField, "unknown field, did you mean %s?", name)
	case len(tables) == 0:
		return d.rejected(problem.UnknownField, "unknown field")
	}
	return d.rejected(problem.UnknownField, "unknown field; remove it, or write it under envs if the scripts read it")
}

// relative returns a path without the keys that lead to the current mapping.
func (d *decoder) relative(path string) string {
	here := fieldPath{d.steps[:len(d.steps)-1]}
	return strings.TrimPrefix(path, here.path()+".")
}

// nearest returns the name of a field that is most similar to key, or "" if none is similar.
func nearest(key string, names iter.Seq[string]) string {
	if len(key) < 3 || len(key) > 40 {
		return ""
	}
	key = strings.ReplaceAll(strings.ToLower(key), "-", "_")
	best, least := "", (len(key)+5)/4
	for _, name := range slices.Sorted(names) {
		if strings.HasPrefix(name, "_") { // users do not write the internal fields of SkyPilot
			continue
		}
		d := distance(key, name)
		if strings.HasPrefix(name, key+"_") || strings.HasSuffix(name, "_"+key) {
			d = min(d, 1)
		}
		if d < least {
			best, least = name, d
		}
	}
	return best
}

// distance returns the Levenshtein distance of a and b: the smallest number of inserted,
// deleted or replaced bytes that turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
