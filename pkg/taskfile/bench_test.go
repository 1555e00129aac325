package taskfile

import (
	"encoding/json"
	"testing"

	"k8s-cli/test/testkit/must"
)

const usual = `{"name":"train","num_nodes":1,"resources":{"cpus":"2","memory":"4"},"envs":{"LR":"0.1","EPOCHS":"10"},"run":"python train.py --lr $LR --epochs $EPOCHS\n"}`

func BenchmarkParseJSON(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := ParseJSON([]byte(usual)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecodeJSON is the baseline for the benchmarks above: encoding/json decodes the
// same text without checks.
func BenchmarkDecodeJSON(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var body struct {
			Name      string            `json:"name"`
			NumNodes  int               `json:"num_nodes"`
			Resources map[string]any    `json:"resources"`
			Envs      map[string]string `json:"envs"`
			Run       string            `json:"run"`
		}
		must.Succeed(b, json.Unmarshal([]byte(usual), &body))
	}
}
