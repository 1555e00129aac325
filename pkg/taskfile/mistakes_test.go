package taskfile

import (
	"strings"
	"testing"
)

// mistakes are task files with an error, as users write them, with the beginning of the first error and
// with the words that say what to do.
var mistakes = []struct{ name, file, says, remedy string }{
	{"a tab", "run: x\nresources:\n\tcpus: 1", "line 3: the line begins with a tab", "takes only spaces"},
	{"a reserved character", "name: a\nrun: @echo", "line 2: a value that begins with @", "needs quotes"},
	{"a percent sign", "run: %x", "line 1: a value that begins with %", "needs quotes"},
	{"a colon in a value", "run: echo hello: world", `line 1: a value with ": "`, `"run: |"`},
	{"an open quote", "name: a\nrun: \"echo", "line 2: a quote is not closed", "write the closing quote"},
	{"an open bracket", "run: x\nresources: {cpus: 1", "line 2: a list [ or a mapping { is not closed", "lacks a comma"},
	{"a wrong indent", "name: a\n  run: x", "line 2: the line is indented further", "begin in the same column"},
	{"less indent", "envs:\n  A: x\n B: y\nrun: x", "line 3: the line does not continue", "begin in the same column"},
	{"a script without indent", "name: a\nrun: |\n  a\nb\n", "line 4: the line is not indented", "indent it"},
	{"no colon", "run: x\nenvs\nname: y", "line 2: the line is not a field", "write NAME: VALUE"},
	{"an unknown anchor", "name: a\nrun: *b", "line 2: no value has the anchor &b", "needs quotes"},
	{"a control character", "name: a\nrun: \x01", "line 2: control characters are not allowed", "is the file a task file?"},
	{"a NUL", "name: a\nrun: \x00", "line 2: control characters are not allowed", "is the file a task file?"},
	{"binary data", "\x7fELF\x02\n\xff\xfe", "line 2: the text is not valid UTF-8", "if it is a task file"},
	{"a duplicate", "run: x\nname: a\nrun: y", "line 3, run: duplicate key, first in line 1", "remove one of them"},
	{"a list", "- run: x", "a task must be a mapping of fields, not a list", "mapping of fields"},
	{"a script", "#!/bin/sh\necho hello", "a task must be a mapping of fields, not a single value", "mapping of fields"},
	{"nothing", "# later", "the task file is empty", "empty"},
	{"no command", "name: x", "run: a task needs a command to run", "needs a command"},
	{"an empty command", "name: x\nrun: ''", "line 2, run: a task needs a command to run", "needs a command"},
	{"a Job of Kubernetes", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {}", `line 2, kind: "Job" is an object of Kubernetes`, "kubectl"},
	{"a pod of Kubernetes", "kind: Pod\napiVersion: v1", `line 1, kind: "Pod" is an object of Kubernetes`, "under run"},

	{"a singular", "run: x\nresource: {cpus: 1}", "line 2, resource: unknown field", "did you mean resources?"},
	{"a plural", "runs: x", "line 1, runs: unknown field", "did you mean run?"},
	{"another case", "Run: x", "line 1, Run: unknown field", "did you mean run?"},
	{"env", "run: x\nenv: {A: b}", "line 2, env: unknown field", "did you mean envs?"},
	{"num_node", "run: x\nnum_node: 2", "line 2, num_node: unknown field", "did you mean num_nodes?"},
	{"replicas", "run: x\nreplicas: 2", "line 2, replicas: unknown field", "did you mean num_nodes?"},
	{"image", "run: x\nimage: y", "line 2, image: unknown field", "did you mean resources.image_id?"},
	{"image in resources", "run: x\nresources:\n  image: y", "line 3, resources.image: unknown field", "did you mean image_id?"},
	{"mem", "run: x\nresources: {mem: 16}", "line 2, resources.mem: unknown field", "did you mean memory?"},
	{"mem at the top", "run: x\nmem: 16", "line 2, mem: unknown field", "did you mean resources.memory?"},
	{"cpu", "run: x\nresources: {cpu: 1}", "line 2, resources.cpu: unknown field", "did you mean cpus?"},
	{"cpus at the top", "run: x\ncpus: 1", "line 2, cpus: unknown field", "did you mean resources.cpus?"},
	{"gpu", "run: x\ngpu: 1", "line 2, gpu: unknown field", "did you mean resources.gpus?"},
	{"command", "command: x", "line 1, command: unknown field", "did you mean run?"},
	{"script", "name: a\nscript: x", "line 2, script: unknown field", "did you mean run?"},
	{"entrypoint", "entrypoint: [x]", "line 1, entrypoint: unknown field", "did you mean run?"},
	{"working_dir", "run: x\nworking_dir: .", "line 2, working_dir: unknown field", "did you mean workdir?"},
	{"timeout", "run: x\ntimeout: 2h", "line 2, timeout: unknown field", "did you mean max_duration?"},
	{"timeout in resources", "run: x\nresources: {timeout: 2h}", "line 2, resources.timeout: unknown field", "did you mean max_duration at the top level"},
	{"max_duration in resources", "run: x\nresources: {max_duration: 2h}", "line 2, resources.max_duration: unknown field", "did you mean max_duration at the top level"},
	{"limits", "run: x\nresources:\n  limits: {cpu: 1}", "line 3, resources.limits: unknown field", "write cpus, memory and accelerators"},
	{"requests", "run: x\nresources: {requests: {cpu: 1}}", "line 2, resources.requests: unknown field", "write cpus, memory and accelerators"},
	{"a field of nobody", "run: x\nzzz: 1", "line 2, zzz: unknown field", "remove it"},

	{"many cores", "run: x\nresources: {cpus: 1000000000}", `line 2, resources.cpus: "1000000000" is more than`, "the limit"},
	{"words of cores", "run: x\nresources: {cpus: two}", `line 2, resources.cpus: "two" is not a positive number`, "for example 4"},
	{"much memory", "run: x\nresources: {memory: 99999999999}", `line 2, resources.memory: "99999999999" is more than`, "the limit"},
	{"more memory", "run: x\nresources: {memory: 9999999999999999}", `line 2, resources.memory: "9999999999999999" is more than`, "the limit"},
	{"a unit with a blank", "run: x\nresources: {memory: 16 GB RAM}", `line 2, resources.memory: "16 GB RAM" is not a positive amount`, "for example 16"},
	{"no GPUs", "run: x\nresources: {accelerators: {A100: 0}}", `line 2, resources.accelerators: "A100:0" requests 0 GPUs`, "remove accelerators"},
	{"words of GPUs", "run: x\nresources: {accelerators: 'A100:eight'}", `line 2, resources.accelerators: "A100:eight" is not`, "NAME:COUNT"},
	{"fewer than no nodes", "run: x\nnum_nodes: -2", `line 2, num_nodes: "-2" is not`, "a whole number from 1 to 10000"},
	{"very many nodes", "run: x\nnum_nodes: 1000000", `line 2, num_nodes: "1000000" is not`, "a whole number from 1 to 10000"},
	{"a port", "run: x\nresources: {ports: 99999}", `line 2, resources.ports: "99999" is not a port`, "from 1 to 65535"},
	{"an image with a blank", "run: x\nresources: {image_id: my image}", `line 2, resources.image_id: "my image" is not`, "name of a container image"},
	{"a name with a blank", "run: x\nname: a b", `line 2, name: "a b" must be letters`, "joined by"},
	{"a duration without a unit", "run: x\nmax_duration: 90", `line 2, max_duration: "90" is not a duration with a unit`, "for example 90s"},

	{"a variable without a value", "run: x\nenvs:\n  A:", "line 3, envs.A: has no value", "--env A=VALUE"},
	{"a secret without a value", "run: x\nsecrets: {A: }", "line 2, secrets.A: has no value", "--secret A=VALUE"},
	{"a list of variables", "run: x\nenvs: [A=b]", "line 2, envs: must be a mapping of names to values", "mapping"},
	{"a dash in a variable", "run: x\nenvs: {A-B: c}", `line 2, envs: "A-B" is not a valid variable name`, "use letters, digits and _"},
	{"a directory as a volume", "run: x\nvolumes:\n  /data: ./local", `line 3, volumes./data: "./local" is a path`, "file_mounts"},
	{"a home directory as a volume", "run: x\nvolumes: {/data: ~/data}", `line 2, volumes./data: "~/data" is a path`, "file_mounts"},
	{"a list of volumes", "run: x\nvolumes: [data]", "line 2, volumes: must be a mapping of mount paths", "mapping"},
	{"a relative mount", "run: x\nvolumes: {data: d}", `line 2, volumes: mount path "data" is not absolute`, "begin it with /"},
	{"a web page as a bucket", "run: x\nfile_mounts: {/a: 'https://example.com/b'}", "line 2, file_mounts./a: an https URL is a bucket only in the form", "download other URLs in setup"},
	{"a bucket without a name", "run: x\nfile_mounts: {/a: {store: s3}}", "line 2, file_mounts./a: must have a source", "or a name"},
	{"both lists of alternatives", "run: x\nresources: {any_of: [{cpus: 1}], ordered: [{cpus: 2}]}", "line 2, resources: any_of and ordered", "use one of them"},
	{"the host's network", "run: x\nconfig: {kubernetes: {pod_config: {spec: {hostNetwork: true}}}}", "line 2, config.kubernetes.pod_config.spec.hostNetwork: pods cannot use", "namespaces of the host"},
}

func TestMistakesNameTheLineAndTheRemedy(t *testing.T) {
	for _, tt := range mistakes {
		_, _, err := Parse([]byte(tt.file))
		if err == nil || !strings.HasPrefix(err.Error(), tt.says) || !strings.Contains(err.Error(), tt.remedy) {
			t.Errorf("%s:\n got %v\nwant %s ... %s", tt.name, err, tt.says, tt.remedy)
		}
		first := Finding{Severity: Honoured}
		for _, f := range Check([]byte(tt.file), Overrides{}) {
			if f.Severity == Refused && first.Severity != Refused {
				first = f
			}
		}
		if first.Severity != Refused || err != nil && findingOf(err) != first {
			t.Errorf("%s: Check finds %+v first, and Parse %v", tt.name, first, err)
		}
	}
}

func TestCheckFindsAllDuplicates(t *testing.T) {
	var lines []int
	for _, f := range Check([]byte("name: a\nrun: x\nname: b\nenvs: {A: 1}\nrun: y\n"), Overrides{}) {
		lines = append(lines, f.Line)
	}
	if len(lines) != 2 || lines[0] != 3 || lines[1] != 5 {
		t.Errorf("findings in lines %v, want 3 and 5", lines)
	}
}

// What a server accepts may surprise all the same.
func TestUnusualValuesHaveFindings(t *testing.T) {
	for file, want := range map[string]string{
		"resources: {cpus: 3000}":                                                "resources.cpus",
		"resources: {memory: 99999}":                                             "resources.memory",
		"resources: {use_spot: true}":                                            "resources.use_spot",
		"resources:\n  any_of: [{cpus: 2}, {cpus: 2000}]":                        "resources.cpus",
		"resources: {use_spot: true, job_recovery: {max_restarts_on_errors: 2}}": "",
		"resources: {cpus: 512, memory: 4096}":                                   "",
	} {
		text := []byte("run: x\n" + file)
		got := ""
		for _, f := range Check(text, Overrides{}) {
			if f.Severity == Warning {
				got += f.Field
			}
		}
		if _, warnings, err := Parse(text); got != want || len(warnings) > 0 || err != nil {
			t.Errorf("%s: findings on %q, want %q; a submission: %q, %v", file, got, want, warnings, err)
		}
	}
}

func TestLinesOfFields(t *testing.T) {
	lines := Lines([]byte("run: x\nfile_mounts:\n  /a: b\n"))
	if lines["file_mounts./a"] != 3 || lines["run"] != 1 {
		t.Errorf("lines %v", lines)
	}
}
