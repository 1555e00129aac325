package status

import (
	"bytes"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"k8s-cli/pkg/task"
)

// A task is encoded when it has changed and is requested, often in a list of hundreds of
// tasks. The encoder writes field by field, in a quarter of the time of encoding/json. A test
// compares the encoder with the types of package task.

// scratch holds buffers for answers whose size is not known yet.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

func encodeTask(s task.Status) []byte {
	b, _ := scratch.Get().(*[]byte)
	defer scratch.Put(b)
	*b = appendTask((*b)[:0], s)
	return bytes.Clone(*b)
}

func appendTask(b []byte, s task.Status) []byte {
	o := object{b: b}
	o.text("task_id", s.ID)
	o.text("name", s.Name)
	o.text("status", string(s.Phase))
	o.moment("created_at", &s.CreatedAt)
	o.moment("updated_at", &s.UpdatedAt)
	o.text("username", s.Username)
	o.key("metadata")
	o.b = appendMetadata(o.b, &s.Metadata)
	return o.end()
}

func appendMetadata(b []byte, m *task.Metadata) []byte {
	o := object{b: b}
	o.text("job_name", m.JobName)
	o.text("namespace", m.Namespace)
	o.number("num_nodes", m.NumNodes)
	o.key("node_jobs")
	o.b = list(o.b, len(m.NodeJobs), func(b []byte, i int) []byte { return appendText(b, m.NodeJobs[i]) })
	o.number("succeeded_nodes", m.Succeeded)
	o.number("failed_nodes", m.Failed)
	o.number("running_nodes", m.Running)
	o.number("pending_nodes", m.Pending)
	o.text("user", m.User)
	o.given("group", m.Group)
	if len(m.Ports) > 0 {
		o.key("ports")
		o.b = list(o.b, len(m.Ports), func(b []byte, i int) []byte { return appendText(b, m.Ports[i]) })
	}
	o.given("job_group", m.JobGroup)
	o.given("job_group_id", m.GroupID)
	o.given("job_group_role", m.GroupRole)
	o.given("reason", m.Reason)
	o.given("message", m.Message)
	o.given("hint", m.Hint)
	o.positive("position", m.Position)
	o.positive("attempt", m.Attempt)
	o.positive("restarts", m.Restarts)
	o.positive("max_restarts", m.MaxRestarts)
	o.given("max_duration", m.MaxDuration)
	o.moment("deadline", m.Deadline)
	o.moment("stops_at", m.StopsAt)
	o.key("nodes")
	o.b = list(o.b, len(m.Nodes), func(b []byte, i int) []byte { return appendNode(b, &m.Nodes[i]) })
	if len(m.Outputs) > 0 {
		o.key("outputs")
		o.b = append(o.b, encode(m.Outputs)...)
	}
	if len(m.Annotations) > 0 {
		o.key("annotations")
		o.b = append(o.b, encode(m.Annotations)...)
	}
	return o.end()
}

func appendNode(b []byte, n *task.Node) []byte {
	o := object{b: b}
	o.number("rank", n.Rank)
	o.text("status", string(n.Phase))
	o.text("job", n.Job)
	o.given("pod", n.Pod)
	o.given("host", n.Host)
	if n.ExitCode != nil {
		o.number("exit_code", *n.ExitCode)
	}
	o.given("reason", n.Reason)
	o.given("message", n.Message)
	o.given("hint", n.Hint)
	o.given("output", n.LastLines)
	o.moment("started_at", n.StartedAt)
	o.moment("finished_at", n.FinishedAt)
	o.positive("attempt", n.Attempt)
	o.positive("max_attempts", n.MaxAttempts)
	if len(n.Attempts) > 0 { // rare
		o.key("attempts")
		o.b = append(o.b, encode(n.Attempts)...)
	}
	o.amounts("max_used", n.MaxUsed)
	return o.end()
}

// An object is a JSON object that is being written.
type object struct {
	b    []byte
	more bool // the object has a field
}

func (o *object) key(name string) {
	if o.more {
		o.b = append(o.b, ',')
	} else {
		o.b = append(o.b, '{')
	}
	o.more = true
	o.b = append(append(append(o.b, '"'), name...), `":`...)
}

func (o *object) text(name, value string) {
	o.key(name)
	o.b = appendText(o.b, value)
}

// given writes a text field unless the text is empty.
func (o *object) given(name, value string) {
	if value != "" {
		o.text(name, value)
	}
}

func (o *object) number(name string, value int) {
	o.key(name)
	o.b = strconv.AppendInt(o.b, int64(value), 10)
}

// positive writes a number field unless the number is 0.
func (o *object) positive(name string, value int) {
	if value != 0 {
		o.number(name, value)
	}
}

// moment writes a time field unless the time is nil.
func (o *object) moment(name string, t *time.Time) {
	if t == nil {
		return
	}
	o.key(name)
	o.b = append(t.AppendFormat(append(o.b, '"'), time.RFC3339Nano), '"')
}

// amounts writes amounts of resources unless they are nil.
func (o *object) amounts(name string, a *task.Amounts) {
	if a == nil {
		return
	}
	o.key(name)
	o.b = strconv.AppendFloat(append(o.b, `{"cpus":`...), a.CPUs, 'f', -1, 64)
	o.b = strconv.AppendInt(append(o.b, `,"memory_bytes":`...), a.Memory, 10)
	o.b = append(o.b, '}')
}

func (o *object) end() []byte { return append(o.b, '}') }

func list(b []byte, n int, one func(b []byte, i int) []byte) []byte {
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, i)
	}
	return append(b, ']')
}

// appendText appends a JSON string. Like encoding/json, it replaces invalid UTF-8.
func appendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}
