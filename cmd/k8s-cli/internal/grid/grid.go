// Package grid forms the combinations of the values of several variables.
package grid

import (
	"maps"
	"slices"
	"strings"

	"k8s-cli/cmd/k8s-cli/internal/exit"
)

// maxPoints is the limit of tasks in one grid. It is far more than a user submits on
// purpose.
const maxPoints = 100_000

// Usage is the help of the flag --grid.
const Usage = "submit one task for each value of the variable, `NAME=VALUE,VALUE...`; repeat the flag to submit one for each combination"

// A Point of a grid has one value for each variable of the grid.
type Point struct {
	Envs map[string]string
	Text string // NAME=VALUE of each variable, in the order of the command line
}

// Parse returns all points of the values of --grid. The last variable changes first.
// Without values, Parse returns one point without variables.
func Parse(said []string) ([]Point, error) {
	points := []Point{{}}
	var names []string
	for _, axis := range said {
		name, list, ok := strings.Cut(axis, "=")
		values := strings.Split(list, ",")
		switch {
		case !ok || name == "":
			return nil, exit.Usagef("--grid %q must have the form NAME=VALUE,VALUE...", axis)
		case slices.Contains(names, name):
			return nil, exit.Usagef("--grid: duplicate variable %s", name)
		case len(points)*len(values) > maxPoints:
			return nil, exit.Usagef("--grid: more than %d combinations; split the sweep", maxPoints)
		}
		names = append(names, name)
		next := make([]Point, 0, len(points)*len(values))
		for _, p := range points {
			for _, value := range values {
				envs := maps.Clone(p.Envs)
				if envs == nil {
					envs = map[string]string{}
				}
				envs[name] = value
				next = append(next, Point{envs, strings.TrimSpace(p.Text + " " + name + "=" + value)})
			}
		}
		points = next
	}
	return points, nil
}
