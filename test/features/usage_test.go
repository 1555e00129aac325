package features

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// The report says what the nodes of a task requested while they ran. The report survives a restart
// of the server, and shows no usage of other users.
func TestUsage(t *testing.T) {
	t.Parallel()
	s := start(t, "--nats-url", external(t))
	ann := s.as(t, "ann")
	ann.login(t)
	ann.put(t, map[string]string{"task.yaml": "num_nodes: 2\nresources: {cpus: 100m, memory: 64Mi}\nrun: sleep 3\n"})
	ann.await(t, ann.submitFile(t, "task.yaml", "--group", "sleepers"), task.Completed)
	q := client.UsageQuery{By: []string{"user", "group"}}
	report, err := ann.Usage(t.Context(), q)
	if err != nil || len(report.Rows) != 1 || report.Rows[0].User != "ann" || report.Rows[0].Group != "sleepers" || report.Rows[0].Hours != report.Total {
		t.Fatalf("%+v, %v", report, err)
	}
	seconds := report.Total.Nodes * 3600
	if h := report.Total; seconds < 2*2.9 || seconds > 2*20 || h.Tasks != 1 || !near(h.CPU, h.Nodes/10) || !near(h.Memory, h.Nodes/16) || h.GPU != 0 {
		t.Errorf("two nodes ran 3 seconds, and used %+v", h)
	}
	s.process.Kill()
	s = s.again(t)
	ann = s.as(t, "ann")
	if again, err := ann.Usage(t.Context(), q); err != nil || !cmp.Equal(again, report) {
		t.Errorf("after a restart: %+v, %v, want %+v", again, err, report)
	}
	if other, err := s.as(t, "bob").Usage(t.Context(), q); err != nil || len(other.Rows) > 0 {
		t.Errorf("another user sees %+v, %v", other, err)
	}
	ann.login(t)
	if csv := ann.cli(t, "jobs", "usage", "--since", "2d", "--by", "day,group", "-o", "csv").ok(t); !strings.HasPrefix(csv, "day,group,tasks,node_hours,") || !strings.Contains(csv, ",sleepers,1,0.00") {
		t.Errorf("CSV %q", csv)
	}
	if table := ann.cli(t, "jobs", "usage").ok(t); !strings.Contains(table, "Node h") || !strings.Contains(table, "Total") {
		t.Errorf("table\n%s", table)
	}
}

func near(a, b float64) bool { return a > b*0.999 && a < b*1.001 }
