package taskfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

func TestAlternatives(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       task.Resources
		warnings   []string // beginnings of the warnings
	}{
		{"what stands beside holds for all", "{cpus: 4, any_of: [{memory: 8}, {memory: 9, cpus: 5}]}", task.Resources{
			AnyOf: []task.Resources{{CPUs: "4", Memory: "8"}, {CPUs: "5", Memory: "9"}},
		}, nil},
		{"null takes it away", "{image_id: a, ordered: [{image_id: null}, {cpus: 1}]}", task.Resources{
			Ordered: []task.Resources{{}, {CPUs: "1", ImageID: "a"}},
		}, nil},
		{"labels are united", "{labels: {a: outer, b: outer}, any_of: [{labels: {b: inner}}, {cpus: 1}]}", task.Resources{
			AnyOf: []task.Resources{{Labels: map[string]string{"a": "outer", "b": "inner"}}, {CPUs: "1", Labels: map[string]string{"a": "outer", "b": "outer"}}},
		}, nil},
		{"gpus stand for accelerators", "{accelerators: T4, any_of: [{gpus: L4}, {cpus: 1}]}", task.Resources{
			AnyOf: []task.Resources{{Accelerators: "L4"}, {CPUs: "1", Accelerators: "T4"}},
		}, nil},
		{"the new name of the recovery replaces the old one", "{spot_recovery: FAILOVER, any_of: [{job_recovery: none}, {cpus: 1}]}", task.Resources{
			AnyOf: []task.Resources{{}, {CPUs: "1", JobRecovery: task.Recovery{Strategy: "FAILOVER"}}},
		}, []string{"resources.spot_recovery: deprecated; write job_recovery"}},
		{"one is none", "{cpus: 4, any_of: [{memory: 8}]}", task.Resources{CPUs: "4", Memory: "8"}, nil},
		{"none are none", "{cpus: 4, any_of: [], ordered: null}", task.Resources{CPUs: "4"}, nil},
		{"sets inside", "{any_of: [{accelerators: {L4:1, T4:1}}, {cpus: 1}]}", task.Resources{
			AnyOf: []task.Resources{{Accelerators: "L4:1"}, {Accelerators: "T4:1"}, {CPUs: "1"}},
		}, nil},
		{"another cloud is left out", "{ordered: [{infra: aws, cpus: 1}, {infra: k8s, cpus: 2}, {cloud: gcp}, {cpus: 3, use_spot: true}]}", task.Resources{
			Ordered: []task.Resources{{CPUs: "2"}, {CPUs: "3", UseSpot: true}},
		}, []string{"resources: alternatives on other clouds are ignored"}},
		{"unless all are on one", "{any_of: [{infra: aws, cpus: 1}, {infra: gcp, cpus: 2}]}", task.Resources{
			AnyOf: []task.Resources{{CPUs: "1"}, {CPUs: "2"}},
		}, []string{"resources.infra: not used"}},
		{"only the first has warnings", "{any_of: [{disk_size: 5}, {use_spot: true, accelerators: NEXT}]}", task.Resources{
			AnyOf: []task.Resources{{DiskSize: 5}, {UseSpot: true, Accelerators: "NEXT"}},
		}, []string{"resources.disk_size: not used"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, warnings, err := Parse([]byte("run: x\nresources: " + tt.text))
			must.Succeed(t, err)
			if diff := cmp.Diff(tt.want, got.Resources); diff != "" {
				t.Errorf("resources (-want +got):\n%s", diff)
			}
			if len(warnings) != len(tt.warnings) {
				t.Fatalf("warnings %q, want %q", warnings, tt.warnings)
			}
			for i := range warnings {
				if !strings.HasPrefix(warnings[i], tt.warnings[i]) {
					t.Errorf("warning %q, want %q", warnings[i], tt.warnings[i])
				}
			}
			checkParsed(t, got, warnings, nil)
		})
	}
}

func TestVariablesInPaths(t *testing.T) {
	const envs = "run: echo $A\nenvs: {A: one, B: two, C: $A, LONG: x}\n"
	for _, tt := range []struct {
		text string
		want task.Spec
	}{
		{"workdir: /${A}/$B/$D", task.Spec{Workdir: "/one/two/$D"}},
		{"volumes: {/$A: '${B}', '/c': $B-x}", task.Spec{Volumes: map[string]string{"/one": "two", "/c": "two-x"}}},
		{"volumes: {/$A: {name: $B, sub_path: $A/$B}}", task.Spec{Volumes: map[string]string{"/one": "two"}, SubPaths: map[string]string{"/one": "one/two"}}},
		{"workdir: {url: 'https://$A/$B', ref: $B}", task.Spec{Git: task.Git{URL: "https://one/two", Ref: "two"}}},
		{"file_mounts: {/$A: ./$B}", task.Spec{FileMounts: map[string]string{"/one": "./two"}}},
		{"workdir: /$AB", task.Spec{Workdir: "/$AB"}},
		{"workdir: /$", task.Spec{Workdir: "/$"}},
	} {
		got, warnings, err := Parse([]byte(envs + tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		checkParsed(t, got, warnings, nil)
		tt.want.Run, tt.want.Envs = got.Run, got.Envs
		if diff := cmp.Diff(tt.want, got); diff != "" || got.Run != "echo $A" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
	for text, want := range map[string]string{
		"workdir: /$C":               `line 3, workdir: becomes "/$A", which again contains a variable; give variables plain values`,
		"volumes: {/$A: x, /one: y}": `line 3, volumes: "/one" is a duplicate key after its variables are replaced`,
		"volumes: {/x: $NOT}":        `line 3, volumes./x: "$NOT" is not a valid name of a volume or claim`,
	} {
		if _, _, err := Parse([]byte(envs + text)); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
	got, _, err := ParseWith([]byte("run: x\nworkdir: /$A\nenvs: {A: null}"), Overrides{Envs: map[string]string{"A": "given"}})
	if err != nil || got.Workdir != "/given" {
		t.Errorf("a variable that is given: %q, %v", got.Workdir, err)
	}
}
