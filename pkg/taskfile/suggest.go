package taskfile

import (
	"maps"
	"strings"

	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/taskfile/similar"
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
func (w *decoder) unknown(key string, s schema) error {
	tables := w.tables()
	name := otherNames[strings.ToLower(key)]
	switch {
	case len(tables) == 0:
		name = similar.Nearest(key, maps.Keys(s))
	case strings.Contains(name, " "):
		return w.rejected(problem.UnknownField, "unknown field; %s", name)
	case name != "":
		name = w.relative(name)
	default:
		name = similar.Nearest(key, maps.Keys(s))
	}
	for i := 0; i < len(tables) && name == ""; i++ {
		if near := similar.Nearest(key, maps.Keys(tables[i].fields)); near != "" {
			name = tables[i].path + near
		}
	}
	switch {
	case name != "":
		return w.rejected(problem.UnknownField, "unknown field, did you mean %s?", name)
	case len(tables) == 0:
		return w.rejected(problem.UnknownField, "unknown field")
	}
	return w.rejected(problem.UnknownField, "unknown field; remove it, or write it under envs if the scripts read it")
}

// relative returns a path without the keys that lead to the current mapping.
func (w *decoder) relative(path string) string {
	here := fieldPath{w.steps[:len(w.steps)-1]}
	return strings.TrimPrefix(path, here.path()+".")
}
