package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"k8s-cli/test/testkit/must"
)

const chart = "../../deploy/kubernetes/chart/"

var update = flag.Bool("update", false, "write the flags of the server to the schema of the chart")

// ofChart lists the flags that the chart sets from other values.
var ofChart = []string{
	"admin-listen", "advertise-url", "allow-exec", "auth", "data-dir", "durability", "files-listen", "kubeconfig", "listen", "log-format", "log-level", "namespace",
	"nats-ca", "nats-cert", "nats-creds", "nats-key", "nats-listen", "nats-replicas", "nats-url", "secrets-key-file", "secrets-key-namespace", "start-timeout",
}

// The schema of the chart has a property of server.flags for each flag of the server that the
// chart does not set, so that helm rejects other flags.
func TestChartKnowsTheFlags(t *testing.T) {
	raw := must.Read(t, chart+"values.schema.json")
	want := map[string]any{}
	command(&config{}).Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(ofChart, f.Name) && f.Name != "version" && f.Name != "help" {
			want[f.Name] = map[string]any{"$ref": "#/$defs/flag"}
		}
	})
	got := flagsIn(t, raw)
	if *update {
		write(t, raw, want)
		got = want
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values.schema.json is out of date; run: go test ./cmd/k8s-cli-server -run TestChartKnowsTheFlags -update\n%s", diff)
	}
}

// flagsIn returns the properties of server.flags in a schema.
func flagsIn(t *testing.T, schema []byte) map[string]any {
	t.Helper()
	var s struct {
		Properties struct {
			Server struct {
				Properties struct {
					Flags struct{ Properties map[string]any }
				}
			}
		}
	}
	must.Succeed(t, json.Unmarshal(schema, &s))
	return s.Properties.Server.Properties.Flags.Properties
}

var flagProperties = regexp.MustCompile(`(?s)("flags": \{.*?"properties": )\{.*?\n {10}\}`)

// write replaces the properties of server.flags in the schema.
func write(t *testing.T, schema []byte, flags map[string]any) {
	t.Helper()
	text, err := json.MarshalIndent(flags, "          ", "  ")
	must.Succeed(t, err)
	changed := flagProperties.ReplaceAll(schema, append([]byte("${1}"), bytes.ReplaceAll(text, []byte("$"), []byte("$$"))...))
	must.Succeed(t, os.WriteFile(chart+"values.schema.json", changed, 0o644))
}

// ofChart contains each flag that the template of the server sets, except flags that may repeat.
func TestFlagsOfTheChart(t *testing.T) {
	raw := must.Read(t, chart+"templates/server.yaml")
	both := []string{"reserved-claims", "tokens-file"} // users may set these flags, too
	set := regexp.MustCompile(`(?m)^ +- --([a-z-]+)`).FindAllSubmatch(raw, -1)
	if len(set) < 15 {
		t.Fatalf("the template sets %d flags", len(set))
	}
	for _, f := range set {
		if name := string(f[1]); !slices.Contains(ofChart, name) && !slices.Contains(both, name) {
			t.Errorf("the chart sets --%s, and users may set it in server.flags", name)
		}
	}
}
