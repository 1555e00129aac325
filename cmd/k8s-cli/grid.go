package main

import (
	"maps"
	"slices"
	"strings"
)

// maxGrid is far more tasks than anybody means to submit by one command.
const maxGrid = 100_000

const gridUsage = "`NAME=VALUE,VALUE...` to submit a task for each value of the variable; of several, for each combination"

// A point of a grid has one value for each of its variables.
type point struct {
	envs map[string]string
	text string // NAME=VALUE of each, in the order of the command line
}

// grid returns all points of what --grid says, the last variable changing first;
// one without variables if it says nothing.
func grid(said []string) ([]point, error) {
	points := []point{{}}
	var names []string
	for _, axis := range said {
		name, list, ok := strings.Cut(axis, "=")
		values := strings.Split(list, ",")
		switch {
		case !ok || name == "":
			return nil, misused("--grid %q is not NAME=VALUE,VALUE...", axis)
		case slices.Contains(names, name):
			return nil, misused("--grid %s stands there twice", name)
		case len(points)*len(values) > maxGrid:
			return nil, misused("--grid: more than %d tasks", maxGrid)
		}
		names = append(names, name)
		next := make([]point, 0, len(points)*len(values))
		for _, p := range points {
			for _, value := range values {
				envs := maps.Clone(p.envs)
				if envs == nil {
					envs = map[string]string{}
				}
				envs[name] = value
				next = append(next, point{envs, strings.TrimSpace(p.text + " " + name + "=" + value)})
			}
		}
		points = next
	}
	return points, nil
}
