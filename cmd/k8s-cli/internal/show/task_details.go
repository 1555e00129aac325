package show

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"k8s-cli/pkg/task"
)

// Task writes all details of one task.
func Task(w io.Writer, s Style, t task.Status) {
	fmt.Fprintln(w, s.paint(bold, "Task Details"))
	writeFields(w, s, []Field{
		{"Task ID", t.ID},
		{"Name", orDash(t.Name)},
		{"Status", string(t.Phase)},
		{"Created", orDash(moment(&t.CreatedAt))},
		{"Updated", orDash(moment(&t.UpdatedAt))},
	})
	fmt.Fprintln(w, "\n"+s.paint(bold, "Metadata"))
	m := t.Metadata
	fields := []Field{
		{"job_name", m.JobName},
		{"namespace", m.Namespace},
		{"num_nodes", strconv.Itoa(m.NumNodes)},
		{"node_jobs", strings.Join(m.NodeJobs, ", ")},
		{"succeeded_nodes", strconv.Itoa(m.Succeeded)},
		{"failed_nodes", strconv.Itoa(m.Failed)},
		{"running_nodes", strconv.Itoa(m.Running)},
		{"pending_nodes", strconv.Itoa(m.Pending)},
		{"user", userOf(m.User, t.Username)},
		{"group", m.Group},
		{"grid", m.Annotations[task.AnnotationPoint]},
		{"ports", strings.Join(m.Ports, ", ")},
		{"annotations", annotations(m)},
		{"position", position(m)},
		{"attempt", attemptOf(m)},
		{"max_duration", timeLimit(m, time.Now())},
		{"reason", m.Reason},
		{"message", lasting(m.Message, time.Now())},
		{"hint", m.Hint},
	}
	if len(m.Nodes) == 1 {
		fields = append(fields, onlyNode(m.Nodes[0])...)
	}
	writeFields(w, s, slices.DeleteFunc(fields, Field.empty))
	if len(m.Nodes) > 1 {
		fmt.Fprintln(w, "\n"+s.paint(bold, "Nodes"))
		writeNodes(w, s, m.Nodes)
	}
	writeStored(w, s, m)
	for _, f := range outputs(m.Nodes) {
		fmt.Fprintf(w, "  %s:\n    %s\n", f.Name, f.Value)
	}
}

// Requested writes what the nodes of a task request, and the variables of the task.
func Requested(w io.Writer, s Style, t task.Spec) {
	first := t.Resources.Alternatives()[0]
	fields := []Field{
		{"cpus", first.CPUs},
		{"memory", first.Memory},
		{"accelerators", first.Accelerators},
		{"image_id", first.ImageID},
		{"envs", pairs(t.Envs)},
	}
	fields = slices.DeleteFunc(fields, Field.empty)
	if len(fields) == 0 {
		return
	}
	headline := "Requested"
	if n := len(t.Resources.Alternatives()); n > 1 {
		headline += fmt.Sprintf(" (the first of %d alternatives)", n)
	}
	fmt.Fprintln(w, "\n"+s.paint(bold, headline))
	writeFields(w, s, fields)
}

// pairs formats a mapping as KEY=VALUE, in the order of the keys.
func pairs(m map[string]string) string {
	all := make([]string, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		all = append(all, key+"="+m[key])
	}
	return strings.Join(all, ", ")
}

// annotations returns the annotations of the user, without the point of a sweep, which has a line of its
// own.
func annotations(m task.Metadata) string {
	own := maps.Clone(m.Annotations)
	delete(own, task.AnnotationPoint)
	return pairs(own)
}

// writeStored writes the outputs that the server stored.
func writeStored(w io.Writer, s Style, m task.Metadata) {
	if len(m.Outputs) == 0 {
		return
	}
	fmt.Fprintln(w, "\n"+s.paint(bold, "Outputs"))
	t := table{rows: len(m.Outputs)}
	t.column("Node", func(i int) string { return strconv.Itoa(m.Outputs[i].Node) })
	t.column("Bytes", func(i int) string { return strconv.FormatInt(m.Outputs[i].Size, 10) })
	t.add(column{header: "SHA-256", drop: 1}, func(i int) string { return m.Outputs[i].Sum })
	t.add(column{header: "Note", shrink: 1}, func(i int) string {
		o := m.Outputs[i]
		if o.Error == "" && len(o.Missing) > 0 {
			return Plain("not there: " + strings.Join(o.Missing, ", "))
		}
		return Plain(o.Error)
	})
	t.write(w, s)
}

// attemptOf returns the attempt of the node with the most attempts, for example "2 of 3".
func attemptOf(m task.Metadata) string {
	for _, n := range m.Nodes {
		switch {
		case n.Attempt == 0 || n.Attempt < m.Attempt:
		case n.MaxAttempts > 0:
			return fmt.Sprintf("%d of %d", n.Attempt, n.MaxAttempts)
		default:
			return strconv.Itoa(n.Attempt)
		}
	}
	return ""
}

// timeLimit returns how long the task may run, and how much of that is left, for example
// "2h, 35m left".
func timeLimit(m task.Metadata, now time.Time) string {
	if m.Deadline == nil {
		return m.MaxDuration
	}
	return m.MaxDuration + ", " + duration.HumanDuration(max(m.Deadline.Sub(now), 0)) + " left"
}

func position(m task.Metadata) string {
	if m.Position == 0 {
		return ""
	}
	return strconv.Itoa(m.Position)
}

// outputs returns the last log lines of each failed node.
func outputs(nodes []task.Node) (all []Field) {
	for _, n := range nodes {
		name := "last_lines"
		if len(nodes) > 1 {
			name += " of node " + strconv.Itoa(n.Rank)
		}
		lines := strings.Split(n.LastLines, "\n")
		for i := range lines {
			lines[i] = Plain(lines[i])
		}
		if n.LastLines != "" {
			all = append(all, Field{name, strings.Join(lines, "\n    ")})
		}
	}
	return all
}

func onlyNode(n task.Node) []Field {
	return []Field{
		{"pod", n.Pod},
		{"host", n.Host},
		{"exit_code", exitCode(n)},
		{"started_at", moment(n.StartedAt)},
		{"finished_at", moment(n.FinishedAt)},
		{"max_used", nodeMax(n)},
	}
}

func writeNodes(w io.Writer, s Style, nodes []task.Node) {
	t := table{rows: len(nodes)}
	t.column("Node", func(i int) string { return strconv.Itoa(nodes[i].Rank) })
	t.column("Status", func(i int) string { return string(nodes[i].Phase) })
	t.column("Exit", func(i int) string { return exitCode(nodes[i]) })
	t.add(column{header: "Pod", drop: 3}, func(i int) string { return nodes[i].Pod })
	t.add(column{header: "Host", drop: 2}, func(i int) string { return nodes[i].Host })
	if knowMax(nodes) {
		t.add(column{header: "Max used", drop: 1}, func(i int) string { return nodeMax(nodes[i]) })
	}
	t.add(column{header: "Reason", shrink: 1}, func(i int) string { return ReasonNow(nodes[i].Reason, nodes[i].Message) })
	t.write(w, s)
}

func exitCode(n task.Node) string {
	if n.ExitCode == nil {
		return ""
	}
	return strconv.Itoa(*n.ExitCode)
}

// Reason formats a reason with its message. Either may be empty.
func Reason(reason, message string) string {
	if reason != "" && message != "" {
		return Plain(reason + ": " + message)
	}
	return Plain(reason + message)
}

// ReasonNow is like Reason for the present state: it replaces a time after "since" in the
// message by the duration until now.
func ReasonNow(reason, message string) string { return Reason(reason, lasting(message, time.Now())) }

var sinceTime = regexp.MustCompile(`\bsince (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)`)

// lasting replaces each time after "since" in a message by the duration until now.
func lasting(message string, now time.Time) string {
	return sinceTime.ReplaceAllStringFunc(message, func(text string) string {
		at, err := time.Parse("since "+time.RFC3339, text)
		if err != nil {
			return text
		}
		return "for " + max(now.Sub(at), 0).Truncate(time.Second).String()
	})
}

// userOf returns the exact user name if it is known. The sanitised name is only a
// fallback, because several users can have the same sanitised name.
func userOf(given, sanitised string) string {
	if given == "" {
		return orDash(sanitised)
	}
	return given
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// moment formats a time to the second. It returns "" for a missing time.
func moment(at *time.Time) string {
	if at == nil || at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
