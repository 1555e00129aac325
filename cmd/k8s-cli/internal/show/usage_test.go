package show

import (
	"strings"
	"testing"

	"k8s-cli/pkg/task/usage"
	"k8s-cli/test/testkit/must"
)

func TestUsageReports(t *testing.T) {
	report := usage.Report{
		Since: "2026-11-22",
		Rows: []usage.Row{
			{Day: "2026-11-23", Group: "a,b", Hours: usage.Hours{Tasks: 2, Nodes: 1, CPU: 4.125}},
			{Day: "2026-11-22", User: "=1+1", Hours: usage.Hours{Tasks: 1, GPU: 0.5}},
		},
		Total: usage.Hours{Tasks: 3, Nodes: 1, CPU: 4.125, GPU: 0.5},
	}
	by := []string{usage.ByGroup, usage.ByDay}
	var table, csv, none strings.Builder
	Usage(&table, Style{}, report, by)
	for _, want := range []string{"Day         Group  Tasks  Node h  CPU h  GPU h  GiB h\n", "2026-11-23  a,b    2      1.00    4.12   0.00   0.00\n", "Total       -      3      1.00    4.12   0.50   0.00\n"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, table.String())
		}
	}
	must.Succeed(t, UsageCSV(&csv, report, append(by, usage.ByUser)))
	if want := "day,user,group,tasks,node_hours,cpu_hours,gpu_hours,memory_gib_hours\n2026-11-23,,\"a,b\",2,1,4.125,0,0\n2026-11-22,'=1+1,,1,0,0,0.5,0\n"; csv.String() != want {
		t.Errorf("CSV %q, want %q", csv.String(), want)
	}
	if Usage(&none, Style{}, usage.Report{Since: "2026-11-22"}, nil); none.String() != "No tasks have ended since 2026-11-22\n" {
		t.Errorf("an empty report: %q", none.String())
	}
}
