// Package usage defines reports about the resources that tasks have used.
package usage

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// MaxDays is the number of days for which the server keeps the usage: 13 months.
const MaxDays = 400

// GroupDays is the number of days for which the server keeps the usage of each group. The usage of a
// group on an earlier day belongs to the user alone.
const GroupDays = 35

// DayLength is the length of a day, which begins at midnight UTC.
const DayLength = 24 * time.Hour

// A Day is the number of days since 1970, in UTC.
type Day int32

// DayOf returns the day of a time.
func DayOf(t time.Time) Day {
	return Day(t.Unix() / int64(DayLength/time.Second))
}

// Start returns the beginning of the day.
func (d Day) Start() time.Time { return time.Unix(int64(d)*int64(DayLength/time.Second), 0).UTC() }

func (d Day) String() string { return d.Start().Format(time.DateOnly) }

// A Sum is the sum of the usage of tasks: what the nodes of the tasks requested, multiplied by the
// seconds for which the nodes ran.
type Sum struct {
	Tasks  int     `json:"tasks"`          // tasks that ended
	Nodes  float64 `json:"node,omitempty"` // seconds
	CPU    float64 `json:"cpu,omitempty"`  // core seconds
	GPU    float64 `json:"gpu,omitempty"`  // GPU seconds
	Memory float64 `json:"gib,omitempty"`  // GiB seconds
}

// Plus returns the sum of two sums.
func (s Sum) Plus(t Sum) Sum {
	return Sum{s.Tasks + t.Tasks, s.Nodes + t.Nodes, s.CPU + t.CPU, s.GPU + t.GPU, s.Memory + t.Memory}
}

// A Key says to whom the usage of a day belongs. Group is empty for tasks without a group.
type Key struct {
	User  string `json:"user"`
	Group string `json:"group,omitempty"`
}

// A Row is the usage of one day, user and group, or of several of them. A field by which the report
// does not distinguish is empty.
type Row struct {
	Day   string `json:"day,omitempty"` // YYYY-MM-DD
	User  string `json:"user,omitempty"`
	Group string `json:"group,omitempty"`
	Hours
}

// Hours is a Sum in hours.
type Hours struct {
	Tasks  int     `json:"tasks"`
	Nodes  float64 `json:"node_hours"`
	CPU    float64 `json:"cpu_hours"`
	GPU    float64 `json:"gpu_hours"`
	Memory float64 `json:"memory_gib_hours"`
}

func hours(s Sum) Hours {
	return Hours{s.Tasks, s.Nodes / 3600, s.CPU / 3600, s.GPU / 3600, s.Memory / 3600}
}

// A Report is the body of GET /usage.
type Report struct {
	Since string `json:"since"` // first day, YYYY-MM-DD
	Rows  []Row  `json:"rows"`  // newest day first, then by user and group
	Total Hours  `json:"total"`
}

// The fields by which a report may distinguish.
const (
	ByDay   = "day"
	ByUser  = "user"
	ByGroup = "group"
)

// A Query selects the usage of a report.
type Query struct {
	User     string // ignored with AllUsers
	AllUsers bool
	Group    string // only this group; empty means all tasks
	Since    Day    // first day
	By       []string
}

// ParseBy parses the fields by which a report distinguishes, separated by commas. An empty text
// means ByDay.
func ParseBy(text string) ([]string, error) {
	if text == "" {
		return []string{ByDay}, nil
	}
	by := strings.Split(text, ",")
	for _, field := range by {
		if field != ByDay && field != ByUser && field != ByGroup {
			return nil, problem.New(problem.Invalid, fmt.Sprintf("by: %s is not one of day, user and group", task.Quote(field)))
		}
	}
	return by, nil
}

// defaultDays is the number of days of a report, today included, if the query says nothing.
const defaultDays = 30

var ageForm = regexp.MustCompile(`^([0-9]{1,4})([dw])$`)

// ParseSince parses the first day of a report: an age in days or weeks such as 30d, or a date such
// as 2026-11-01. An empty text means 30 days.
func ParseSince(text string, now time.Time) (Day, error) {
	if text == "" {
		return DayOf(now) - defaultDays + 1, nil
	}
	if m := ageForm.FindStringSubmatch(text); m != nil {
		days, _ := strconv.Atoi(m[1])
		if m[2] == "w" {
			days *= 7
		}
		return DayOf(now) - Day(days) + 1, nil
	}
	date, err := time.Parse(time.DateOnly, text)
	if err != nil || date.Year() < 1970 {
		return 0, problem.New(problem.Invalid, fmt.Sprintf("since: %s is neither an age such as 30d or 2w nor a date such as 2026-11-01", task.Quote(text)))
	}
	return DayOf(date), nil
}

// A Collector makes a Report from the usage of single days.
type Collector struct {
	query Query
	sums  map[row]Sum
	total Sum
}

// A row is what a row of a report is about.
type row struct {
	day Day
	Key
}

// NewCollector returns a Collector without any usage.
func NewCollector(q Query) *Collector { return &Collector{query: q, sums: map[row]Sum{}} }

// Add adds the usage of a day, if the query selects it.
func (c *Collector) Add(d Day, k Key, s Sum) {
	q := c.query
	if d < q.Since || !q.AllUsers && k.User != q.User || q.Group != "" && k.Group != q.Group {
		return
	}
	var r row
	for _, field := range q.By {
		switch field {
		case ByDay:
			r.day = d
		case ByUser:
			r.User = k.User
		case ByGroup:
			r.Group = k.Group
		}
	}
	c.sums[r] = c.sums[r].Plus(s)
	c.total = c.total.Plus(s)
}

// Report returns the report about the added usage.
func (c *Collector) Report() Report {
	report := Report{Since: c.query.Since.String(), Rows: []Row{}, Total: hours(c.total)}
	order := func(a, b row) int {
		return cmp.Or(cmp.Compare(b.day, a.day), cmp.Compare(a.User, b.User), cmp.Compare(a.Group, b.Group))
	}
	for _, r := range slices.SortedFunc(maps.Keys(c.sums), order) {
		next := Row{User: r.User, Group: r.Group, Hours: hours(c.sums[r])}
		if slices.Contains(c.query.By, ByDay) {
			next.Day = r.day.String()
		}
		report.Rows = append(report.Rows, next)
	}
	return report
}
