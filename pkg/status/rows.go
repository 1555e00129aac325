package status

import (
	"k8s-cli/pkg/task/overview"
)

// encodeRows returns the body of GET /tasks?view=row.
func encodeRows(rows []overview.Row) []byte {
	const size = 220 // bytes of a long row
	b := append(make([]byte, 0, len(rows)*size+16), `{"tasks":`...)
	b = list(b, len(rows), func(b []byte, i int) []byte { return appendRow(b, &rows[i]) })
	return append(b, '}')
}

func appendRow(b []byte, r *overview.Row) []byte {
	o := object{b: b}
	o.text("id", r.ID)
	o.text("name", r.Name)
	o.text("user", r.User)
	o.given("group", r.Group)
	o.text("status", string(r.Phase))
	o.given("reason", r.Reason)
	o.number("created", int(r.Created))
	if r.Started != 0 {
		o.number("started", int(r.Started))
	}
	if r.Ended != 0 {
		o.number("ended", int(r.Ended))
	}
	o.number("nodes", r.Nodes)
	o.given("gpus", r.GPUs)
	if r.Restarts != 0 {
		o.number("restarts", r.Restarts)
	}
	o.given("point", r.Point)
	if r.ExitCode != nil {
		o.number("exit_code", *r.ExitCode)
	}
	o.given("last_line", r.LastLine)
	return o.end()
}
