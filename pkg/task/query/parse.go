package query

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

const (
	maxValues = 64   // values of one parameter
	maxText   = 1024 // bytes of one value
)

var (
	reasonForm  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,127}$`)
	machineForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$`)
	gpusForm    = regexp.MustCompile(`^([0-9]{1,6}|[A-Za-z][A-Za-z0-9._-]{0,49}(:[0-9]{1,6})?)$`)
	pointForm   = regexp.MustCompile(`^[^= ]+=`)
	daysForm    = regexp.MustCompile(`^([0-9]{1,5}(?:\.[0-9]{1,3})?)(d|w)$`)
)

// A reader reads one parameter. A reader gets at least one value. Only the value of all_users may be
// empty.
type reader func(q *Tasks, values []string) error

// readers reads each parameter.
var readers = withNegations(map[string]reader{
	paramAllUsers:     one(func(q *Tasks, s string) (err error) { q.AllUsers, err = boolean(s); return err }),
	paramUser:         one(func(q *Tasks, s string) (err error) { q.User, err = userName(s); return err }),
	paramName:         one(func(q *Tasks, s string) error { q.Name = s; return nil }),
	paramNamePrefix:   one(func(q *Tasks, s string) error { q.NamePrefix = s; return nil }),
	paramNameContains: func(q *Tasks, values []string) error { q.NameContains = values; return nil },
	paramBefore:       one(func(q *Tasks, s string) (err error) { q.Before = s; _, err = ParseSince(s, time.Now()); return err }),
	paramSince:        one(func(q *Tasks, s string) (err error) { q.Since = s; _, err = ParseSince(s, time.Now()); return err }),
	paramGroup:        one(func(q *Tasks, s string) error { q.Group = s; return task.CheckLabelValue(s) }),
	paramCursor:       one(func(q *Tasks, s string) error { q.Cursor = s; return nil }),
	paramSort:         one(readSort),
	paramLimit:        one(readLimit),
	paramOffset:       one(readOffset),
	paramView:         one(readView),
	paramStatus:       readPhases,
	paramLabel:        readLabels,
	paramAnnotation:   readAnnotations,
	paramReason:       readReasons,
	paramPoint:        readPoints,
	paramGPUs:         readGPUs,
	paramMachine:      readMachines,
	paramExit:         readExitCodes,
})

// withNegations adds the negation of each negatable filter to the readers of all parameters.
func withNegations(all map[string]reader) map[string]reader {
	for _, name := range negatable {
		read := all[name]
		all[negation+name] = func(q *Tasks, values []string) error {
			if q.Not == nil {
				q.Not = &Tasks{}
			}
			return read(q.Not, values)
		}
	}
	return all
}

// Parse reads the parameters of a request. The error is of kind problem.Invalid and names the
// parameter. A parameter without a value counts as missing.
func Parse(values url.Values) (q Tasks, err error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		read, known := readers[name]
		if !known {
			return q, unknown(name, "this list", nil)
		}
		given := values[name]
		if name != paramAllUsers { // as for other routes, all_users without a value is an error
			given = slices.DeleteFunc(slices.Clone(given), func(s string) bool { return s == "" })
		}
		if len(given) == 0 {
			continue
		}
		if err := check(given); err != nil {
			return q, invalid(name, err)
		}
		if err := read(&q, given); err != nil {
			return q, invalid(name, err)
		}
	}
	return q, nil
}

// The parameters of a list that a stop does not have.
var (
	pageParams    = []string{paramSort, paramLimit, paramOffset, paramCursor, paramView}
	clusterParams = []string{paramReason, paramMachine, paramExit} // filters that the fold of the log cannot decide
)

// ParseStop reads the parameters of a stop of several tasks: the filters of a list, except those that
// depend on what the pods see in the cluster. An empty value is an error, because without the filter
// the stop would stop more tasks.
func ParseStop(values url.Values) (Tasks, error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		_, known := readers[name]
		switch {
		case slices.Contains(clusterParams, strings.TrimPrefix(name, negation)):
			return Tasks{}, invalid(name, errors.New("cannot select the tasks of a stop, because it depends on the cluster and not on the log alone; list the tasks, and stop them by their ids"))
		case !known || slices.Contains(pageParams, name):
			return Tasks{}, unknown(name, "a stop", slices.Concat(pageParams, clusterParams))
		case slices.Contains(values[name], ""):
			return Tasks{}, invalid(name, errors.New("the value is empty; give a value, or omit the parameter"))
		}
	}
	return Parse(values)
}

// unknown returns the error for a parameter that a request does not have. The others are all
// parameters without the omitted ones.
func unknown(name, request string, omitted []string) error {
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(readers)), func(other string) bool {
		return strings.HasPrefix(other, negation) || slices.Contains(omitted, other)
	})
	return invalid(parameter(name), fmt.Errorf("is not a parameter of %s; use one of %s, or %s before the name of a filter", request, strings.Join(others, ", "), negation))
}

// plain matches a name that an error can have as its field.
var plain = regexp.MustCompile(`^[A-Za-z_]\w{0,63}$`)

// parameter returns the name of an unknown parameter for an error, quoted if it is not plain.
func parameter(name string) string {
	if plain.MatchString(name) {
		return name
	}
	return task.Quote(name)
}

func invalid(name string, err error) error {
	return problem.New(problem.Invalid, name+": "+err.Error())
}

func check(given []string) error {
	if len(given) > maxValues {
		return fmt.Errorf("%d values exceed the limit of %d", len(given), maxValues)
	}
	for _, s := range given {
		if len(s) > maxText {
			return fmt.Errorf("%d bytes exceed the limit of %d", len(s), maxText)
		}
	}
	return nil
}

// one returns a reader of a parameter that may be given only once.
func one(read func(*Tasks, string) error) reader {
	return func(q *Tasks, values []string) error {
		if len(values) > 1 {
			return errors.New("is given more than once; give one value")
		}
		return read(q, values[0])
	}
}

func boolean(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "true", "1", "yes", "on":
		return true, nil
	case "false", "0", "no", "off":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", s)
}

func userName(s string) (string, error) {
	name, err := task.UserName(s)
	if err != nil {
		return "", fmt.Errorf("the name %w", err)
	}
	return name, nil
}

func readSort(q *Tasks, s string) error {
	if !slices.Contains(Fields, strings.TrimPrefix(s, "-")) {
		return fmt.Errorf("%q is not one of %s, with - in front for descending order", s, strings.Join(Fields, ", "))
	}
	q.Sort = Sort(s)
	return nil
}

func readLimit(q *Tasks, s string) (err error) {
	if q.Limit, err = strconv.Atoi(s); err != nil || q.Limit < 1 {
		return fmt.Errorf("%q is not a whole number of at least 1", s)
	}
	return nil
}

func readOffset(q *Tasks, s string) (err error) {
	if q.Offset, err = strconv.Atoi(s); err != nil || q.Offset < 0 {
		return fmt.Errorf("%q is not a whole number of at least 0", s)
	}
	return nil
}

func readView(q *Tasks, s string) error {
	switch s {
	case "full":
		q.View = Full
	case string(Row):
		q.View = Row
	default:
		return fmt.Errorf("%q is not one of full, row", s)
	}
	return nil
}

// split returns the parts of all values, which may hold several parts separated by commas.
func split(values []string) (parts []string) {
	for _, value := range values {
		parts = append(parts, strings.Split(value, ",")...)
	}
	return parts
}

func readPhases(q *Tasks, values []string) error {
	for _, s := range split(values) {
		if !slices.Contains(Phases, task.Phase(s)) {
			return fmt.Errorf("%q is not one of %v", s, Phases)
		}
		q.Phases = append(q.Phases, task.Phase(s))
	}
	return nil
}

func readReasons(q *Tasks, values []string) error {
	for _, s := range split(values) {
		if !reasonForm.MatchString(s) {
			return fmt.Errorf("%q is not a reason, which is one word such as Unschedulable", s)
		}
		q.Reasons = append(q.Reasons, s)
	}
	return nil
}

// readPoints does not split the values at commas: the value of a variable may be any text.
func readPoints(q *Tasks, values []string) error {
	for _, s := range values {
		if !pointForm.MatchString(s) {
			return fmt.Errorf("%q is not NAME=VALUE", s)
		}
	}
	q.Points = values
	return nil
}

func readGPUs(q *Tasks, values []string) error {
	for _, s := range split(values) {
		if !gpusForm.MatchString(s) {
			return fmt.Errorf("%q is not a number of GPUs such as 8, a model such as H100, or both such as H100:8", s)
		}
		q.GPUs = append(q.GPUs, s)
	}
	return nil
}

func readMachines(q *Tasks, values []string) error {
	for _, s := range split(values) {
		if !machineForm.MatchString(s) {
			return fmt.Errorf("%q is not the name of a machine", s)
		}
		q.Machines = append(q.Machines, s)
	}
	return nil
}

func readExitCodes(q *Tasks, values []string) error {
	for _, s := range split(values) {
		code, err := strconv.ParseUint(s, 10, 8)
		if err != nil {
			return fmt.Errorf("%q is not an exit code, which is a whole number from 0 to 255", s)
		}
		q.ExitCodes = append(q.ExitCodes, int(code))
	}
	return nil
}

func readLabels(q *Tasks, values []string) error {
	for _, s := range split(values) {
		key, value, _ := strings.Cut(s, "=")
		err := task.CheckLabelKey(key)
		if err == nil {
			err = task.CheckLabelValue(value)
		}
		if err != nil {
			return fmt.Errorf("%w; give KEY=VALUE, or KEY for any value", err)
		}
		q.Labels = append(q.Labels, s)
	}
	return nil
}

// readAnnotations does not split the values at commas: the value of an annotation may be any text.
func readAnnotations(q *Tasks, values []string) error {
	for _, s := range values {
		key, _, _ := strings.Cut(s, "=")
		if err := task.CheckLabelKey(key); err != nil {
			return fmt.Errorf("%w; give KEY=VALUE, or KEY for any value", err)
		}
	}
	q.Annotations = values
	return nil
}

// ParseSince returns the time that an age or a time in RFC 3339 means.
func ParseSince(s string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return at.UTC().Truncate(time.Second), nil
	}
	age, err := ParseAge(s, now)
	return now.Add(-age).UTC().Truncate(time.Second), err
}

// ParseAge returns for how long before now a period began that s describes: an age such as 90s, 3h, 2d
// or 1.5w, or a time in RFC 3339.
func ParseAge(s string, now time.Time) (time.Duration, error) {
	age, err := time.ParseDuration(s)
	if m := daysForm.FindStringSubmatch(s); m != nil {
		n, _ := strconv.ParseFloat(m[1], 64)
		day := 24 * time.Hour
		if m[2] == "w" {
			day *= 7
		}
		age, err = time.Duration(n*float64(day)), nil
	}
	if at, wrong := time.Parse(time.RFC3339, s); wrong == nil {
		if age = now.Sub(at); age <= 0 {
			return 0, fmt.Errorf("%q has not come yet", s)
		}
		return age, nil
	}
	if err != nil || age <= 0 {
		return 0, fmt.Errorf("%q is neither an age such as 90s, 3h or 2d nor a time in RFC 3339 such as 2026-11-21T06:05:35Z", s)
	}
	return age, nil
}
