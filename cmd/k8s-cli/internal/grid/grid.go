// Package grid forms the tasks of a sweep. They are the combinations of the values of several
// variables, or copies of a task.
package grid

import (
	"encoding/csv"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s-cli/cmd/k8s-cli/internal/exit"
)

// maxPoints is the limit of tasks in one grid. It is far more than a user submits on
// purpose.
const maxPoints = 100_000

// Usage is the help of the flag --grid.
const Usage = "submit one task for each value of the variable, `NAME=VALUE,VALUE...`; put a value with commas in double quotes; repeat the flag to submit one for each combination"

// The variables of the tasks of a sweep, as SkyPilot names them.
const (
	rankVariable  = "SKYPILOT_JOB_RANK" // number of the task in the sweep, from 0
	totalVariable = "SKYPILOT_NUM_JOBS" // number of tasks in the sweep
)

// A Point is one task of a sweep. The point has one value for each variable of the grid.
type Point struct {
	Envs map[string]string
	Text string            // NAME=VALUE of each variable, in the order of the command line, and the rank of a copy
	Rank map[string]string // variables that tell a task of a sweep its rank; nil without a sweep
}

// Sweep returns the points of the values of --grid, each with as many copies as --num-jobs says. 0
// copies mean that the flag is missing. Without both flags, Sweep returns one point without
// variables.
func Sweep(said []string, copies int) ([]Point, error) {
	points, err := Parse(said)
	switch {
	case err != nil || len(said) == 0 && copies == 0:
		return points, err
	case len(points)*copies > maxPoints:
		return nil, exit.Usagef("--num-jobs: more than %d tasks; split the sweep", maxPoints)
	}
	all := make([]Point, 0, len(points)*max(copies, 1))
	for _, p := range points {
		for range max(copies, 1) {
			rank := strconv.Itoa(len(all))
			next := Point{p.Envs, p.Text, map[string]string{rankVariable: rank, totalVariable: strconv.Itoa(cap(all))}}
			if copies > 0 {
				next.Text = strings.TrimSpace(p.Text + " " + rankVariable + "=" + rank)
			}
			all = append(all, next)
		}
	}
	return all, nil
}

// split returns the values of a list. A value in double quotes may contain commas, as in CSV.
func split(list string) ([]string, error) {
	if !strings.HasPrefix(list, `"`) && !strings.Contains(list, `,"`) {
		return strings.Split(list, ","), nil
	}
	lines, err := csv.NewReader(strings.NewReader(list)).ReadAll()
	if err == nil && len(lines) != 1 {
		err = errors.New("a line break stands outside of quotes")
	}
	if err != nil {
		return nil, err
	}
	return lines[0], nil
}

// Parse returns all points of the values of --grid. The last variable changes first.
// Without values, Parse returns one point without variables.
func Parse(said []string) ([]Point, error) {
	points := []Point{{}}
	var names []string
	for _, axis := range said {
		name, list, ok := strings.Cut(axis, "=")
		values, err := split(list)
		switch {
		case err != nil:
			return nil, exit.Usagef("--grid %s: %v; quote a value that contains a comma: NAME='\"a,b\",c'", name, err)
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
				next = append(next, Point{Envs: envs, Text: strings.TrimSpace(p.Text + " " + name + "=" + value)})
			}
		}
		points = next
	}
	return points, nil
}
