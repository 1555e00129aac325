package usage

import (
	"encoding/json"
	"testing"
	"time"
)

func TestReports(t *testing.T) {
	today := DayOf(time.Date(2026, 11, 23, 23, 59, 59, 0, time.UTC))
	of := func(q Query) string {
		c := NewCollector(q)
		c.Add(today, Key{"ann", "g"}, Sum{Tasks: 1, Nodes: 3600, CPU: 7200})
		c.Add(today, Key{"ann", ""}, Sum{Tasks: 2, GPU: 1800})
		c.Add(today, Key{"bob", "g"}, Sum{Tasks: 4, Memory: 36})
		c.Add(today-1, Key{"ann", "g"}, Sum{Tasks: 8})
		c.Add(today-2, Key{"ann", "g"}, Sum{Tasks: 16})
		raw, err := json.Marshal(c.Report())
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	const none = `"node_hours":0,"cpu_hours":0,"gpu_hours":0,"memory_gib_hours":0`
	for _, tt := range []struct {
		name string
		q    Query
		want string
	}{
		{
			"by day",
			Query{User: "ann", Since: today - 1, By: []string{ByDay}},
			`{"since":"2026-11-22","rows":[{"day":"2026-11-23","tasks":3,"node_hours":1,"cpu_hours":2,"gpu_hours":0.5,"memory_gib_hours":0},` +
				`{"day":"2026-11-22","tasks":8,` + none + `}],"total":{"tasks":11,"node_hours":1,"cpu_hours":2,"gpu_hours":0.5,"memory_gib_hours":0}}`,
		},
		{
			"by user and group",
			Query{AllUsers: true, Since: today, By: []string{ByUser, ByGroup}},
			`{"since":"2026-11-23","rows":[{"user":"ann","tasks":2,"node_hours":0,"cpu_hours":0,"gpu_hours":0.5,"memory_gib_hours":0},` +
				`{"user":"ann","group":"g","tasks":1,"node_hours":1,"cpu_hours":2,"gpu_hours":0,"memory_gib_hours":0},` +
				`{"user":"bob","group":"g","tasks":4,"node_hours":0,"cpu_hours":0,"gpu_hours":0,"memory_gib_hours":0.01}],` +
				`"total":{"tasks":7,"node_hours":1,"cpu_hours":2,"gpu_hours":0.5,"memory_gib_hours":0.01}}`,
		},
		{
			"one group",
			Query{User: "bob", Group: "g", Since: today, By: []string{ByGroup}},
			`{"since":"2026-11-23","rows":[{"group":"g","tasks":4,"node_hours":0,"cpu_hours":0,"gpu_hours":0,"memory_gib_hours":0.01}],` +
				`"total":{"tasks":4,"node_hours":0,"cpu_hours":0,"gpu_hours":0,"memory_gib_hours":0.01}}`,
		},
		{"nothing", Query{User: "cid", Since: today}, `{"since":"2026-11-23","rows":[],"total":{"tasks":0,` + none + `}}`},
	} {
		if got := of(tt.q); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestFieldsOfAReport(t *testing.T) {
	for text, want := range map[string]int{"": 1, "day": 1, "user,group": 2, "day,user,group": 3, "week": 0, "day,": 0} {
		by, err := ParseBy(text)
		if len(by) != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %v, %v", text, by, err)
		}
	}
}

func TestFirstDayOfAReport(t *testing.T) {
	now := time.Date(2026, 11, 23, 1, 0, 0, 0, time.FixedZone("", 3600)) // midnight UTC
	for text, want := range map[string]string{
		"": "2026-10-25", "1d": "2026-11-23", "30d": "2026-10-25", "2w": "2026-11-10", "2026-11-01": "2026-11-01", "1970-01-01": "1970-01-01",
		"1969-12-31": "", "30": "", "3h": "", "-1d": "", "2026-13-01": "", "x": "",
	} {
		got, err := ParseSince(text, now)
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%q: %s, %v, want %q", text, got, err, want)
		}
	}
}
