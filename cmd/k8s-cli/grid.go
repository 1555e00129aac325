package main

import (
	"maps"
	"slices"
	"strings"

	"k8s-cli/cmd/k8s-cli/internal/exit"
)

// maxGrid is the limit of tasks in one grid. It is far more than a user submits on
// purpose.
const maxGrid = 100_000

const gridUsage = "submit one task for each value of the variable, `NAME=VALUE,VALUE...`; repeat the flag to submit one for each combination"

// A point of a grid has one value for each variable of the grid.
type point struct {
	envs map[string]string
	text string // NAME=VALUE of each variable, in the order of the command line
}

// grid returns all points of the values of --grid. The last variable changes first.
// Without values, grid returns one point without variables.
func grid(said []string) ([]point, error) {
	points := []point{{}}
	var names []string
	for _, axis := range said {
		name, list, ok := strings.Cut(axis, "=")
		values := strings.Split(list, ",")
		switch {
		case !ok || name == "":
			return nil, exit.Usagef("--grid %q must have the form NAME=VALUE,VALUE...", axis)
		case slices.Contains(names, name):
			return nil, exit.Usagef("--grid: duplicate variable %s", name)
		case len(points)*len(values) > maxGrid:
			return nil, exit.Usagef("--grid: more than %d combinations; split the sweep", maxGrid)
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
