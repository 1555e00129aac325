package load

import (
	"strings"
	"testing"
	"time"
)

const good = `Running 3s test @ http://127.0.0.1:9100
  1 threads and 32 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   310.12us  120.00us   4.10ms   91.02%
    Req/Sec   101.10k     3.02k  106.15k    73.33%
  Latency Distribution
     50%  289.00us
     75%  340.00us
     90%  410.00us
     99%    1.02ms
  301764 requests in 3.00s, 201.45MB read
Requests/sec: 100587.12
Transfer/sec:     67.15MB
`

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, out string
		want      Result
		wrong     string
	}{
		{"all is well", good, Result{Rate: 100587.12, Requests: 301764, P50: 289 * time.Microsecond, P99: 1020 * time.Microsecond}, ""},
		{"answers that fail", good + "  Non-2xx or 3xx responses: 12\n", Result{}, "12 answers"},
		{"connections that break", good + "  Socket errors: connect 0, read 3, write 0, timeout 0\n", Result{}, "read 3"},
		{"no latencies", strings.ReplaceAll(good, "50%", "51%"), Result{}, "not understood"},
		{"nothing at all", "", Result{}, "not understood"},
		{"nothing answered", strings.ReplaceAll(good, "301764 requests", "0 requests"), Result{}, "nothing was answered"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parse(tt.out)
			if tt.wrong == "" && (err != nil || got != tt.want) {
				t.Errorf("parse() = %+v, %v; want %+v", got, err, tt.want)
			}
			if tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)) {
				t.Errorf("parse() says %v, want %q in it", err, tt.wrong)
			}
		})
	}
}

func TestScriptHoldsEveryByte(t *testing.T) {
	script := lua([]Request{{Method: "POST", Path: "/a", Header: map[string]string{"X-User": "ann"}, Body: "a\"\\\n\x00ä"}})
	for _, want := range []string{`"POST", "/a"`, `["X-User"]="ann",`, `"a\034\092\010\000\195\164"`} {
		if !strings.Contains(script, want) {
			t.Errorf("the script lacks %s:\n%s", want, script)
		}
	}
}
