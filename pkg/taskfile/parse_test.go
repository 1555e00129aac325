package taskfile

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

func TestTextsStayAsWritten(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       task.Spec
	}{
		{"a name that is a number", `{run: x, name: 2024}`, task.Spec{Run: "x", Name: "2024"}},
		{"quantities as numbers", `{run: x, resources: {cpus: 4, memory: 16.5}}`, task.Spec{Run: "x", Resources: task.Resources{CPUs: "4", Memory: "16.5"}}},
		{"null means absent", `{run: x, name: null, num_nodes: ~, resources: , workdir: null, envs: null, volumes: null}`, task.Spec{Run: "x"}},
		{"null means absent in resources", `{run: x, resources: {cpus: null, image_id: null, accelerators: null, ports: null, use_spot: null}}`, task.Spec{Run: "x"}},
		{"null means absent where a field is refused", `{run: x, service: null, secrets: {}, config: {}, resources: {any_of: []}}`, task.Spec{Run: "x"}},
		{"empty collections", `{run: x, envs: {}, volumes: {}, file_mounts: {}, resources: {accelerators: {}}}`, task.Spec{Run: "x"}},
		{"variables of every kind", `{run: x, envs: {A: 1, B: 1e3, C: true, D: no, E: 2024-01-02, F: 0x10, G: ""}}`, task.Spec{Run: "x", Envs: map[string]string{
			"A": "1", "B": "1e3", "C": "true", "D": "no", "E": "2024-01-02", "F": "0x10", "G": "",
		}}},
		{"a tagged text", `{run: !!str 5}`, task.Spec{Run: "5"}},
		{"a script with dollars", "run: |\n  echo $$ $(X) ${Y}\n", task.Spec{Run: "echo $$ $(X) ${Y}\n"}},
		{"a folded script", "run: >-\n  a\n  b\n", task.Spec{Run: "a b"}},
		{"a number of nodes as text", `{run: x, num_nodes: "2"}`, task.Spec{Run: "x", NumNodes: 2}},
		{"whole numbers in the forms of YAML 1.1", `{run: x, num_nodes: +0_1, resources: {job_recovery: {strategy: FAILOVER, max_restarts_on_errors: 010, recover_on_exit_codes: [0b11, 0x1_0, 1_0_0, 1:30]}}}`, task.Spec{Run: "x", NumNodes: 1, Resources: task.Resources{JobRecovery: task.Recovery{Strategy: "FAILOVER", Restarts: 8, ExitCodes: []int{3, 16, 90, 100}}}}},
		{"a number of nodes with a point", `{run: x, num_nodes: 2.0}`, task.Spec{Run: "x", NumNodes: 2}},
		{"a number of nodes with an exponent", `{run: x, num_nodes: 1e1}`, task.Spec{Run: "x", NumNodes: 10}},
		{"the GPUs of a mapping", `{run: x, resources: {accelerators: {"2": null}}}`, task.Spec{Run: "x", Resources: task.Resources{Accelerators: "2"}}},
		{"gpus are accelerators", `{run: x, resources: {gpus: 2}}`, task.Spec{Run: "x", Resources: task.Resources{Accelerators: "2"}}},
		{"a list of one", `{run: x, resources: {accelerators: ["2"]}}`, task.Spec{Run: "x", Resources: task.Resources{Accelerators: "2"}}},
		{"a docker: prefix", `{run: x, resources: {image_id: "docker:alpine"}}`, task.Spec{Run: "x", Resources: task.Resources{ImageID: "docker:alpine"}}},
		{"the same image in all regions", `{run: x, resources: {image_id: {eu: alpine, us: docker:alpine}}}`, task.Spec{Run: "x", Resources: task.Resources{ImageID: "docker:alpine"}}},
		{"an image in one region", `{run: x, resources: {image_id: {eu: alpine}}}`, task.Spec{Run: "x", Resources: task.Resources{ImageID: "alpine"}}},
		{"no image in any region", `{run: x, resources: {image_id: {}}}`, task.Spec{Run: "x"}},
		{"a docker mapping", `{run: x, resources: {image_id: {docker: alpine}}}`, task.Spec{Run: "x", Resources: task.Resources{ImageID: "alpine"}}},
		{"what is not asked for needs no warning", `{run: x, api_server_access: false, resources: {use_spot: no, autostop: false, cloud: Kubernetes, disk_size: 0, job_recovery: NONE, priority: 0}}`, task.Spec{Run: "x"}},
		{"a volume's name in a mapping", `{run: x, volumes: {/a: {name: data}}}`, task.Spec{Run: "x", Volumes: map[string]string{"/a": "data"}}},
		{"a setup without a run", `{setup: x}`, task.Spec{Setup: "x"}},
		{"a byte-order mark", "\uFEFFrun: x", task.Spec{Run: "x"}},
		{"a document between markers", "---\nrun: x\n...\n", task.Spec{Run: "x"}},
		{"empty documents around", "---\n---\nrun: x\n---\n", task.Spec{Run: "x"}},
		{"an alias", "{setup: &a x, run: *a}", task.Spec{Setup: "x", Run: "x"}},
		{"an alias for a key", "{run: &a x, envs: {*a : y}}", task.Spec{Run: "x", Envs: map[string]string{"x": "y"}}},
		{"a merge gives way to what is written", "run: x\nenvs: {A: mine, <<: {A: one, B: two}}\n", task.Spec{Run: "x", Envs: map[string]string{"A": "mine", "B": "two"}}},
		{"the first merge wins", "run: x\nenvs:\n  <<: [{A: one}, {A: two, B: two}]\n", task.Spec{Run: "x", Envs: map[string]string{"A": "one", "B": "two"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, warnings, err := Parse([]byte(tt.text))
			if err != nil || len(warnings) > 0 {
				t.Fatalf("Parse: %v, warnings %q", err, warnings)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("task (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInvalidFilesNameTheLine(t *testing.T) {
	invalid, broken := problem.Invalid, problem.Malformed
	for _, tt := range []struct {
		name, text string
		kind       error
		want       string
	}{
		{"nothing", "", broken, "the task file is empty"},
		{"a comment", "# soon", broken, "the task file is empty"},
		{"only a byte-order mark", "\uFEFF", broken, "the task file is empty"},
		{"null", "null", broken, "the task file is empty"},
		{"not UTF-8", "run: \xff", broken, "line 1: the text is not valid UTF-8; store the file as UTF-8, if it is a task file"},
		{"a control character", "run: \x01", broken, "line 1: control characters are not allowed; is the file a task file?"},
		{"a list", "- run: x", invalid, "a task must be a mapping of fields, not a list"},
		{"a text", "run", invalid, "a task must be a mapping of fields, not a single value"},
		{"a tab", "resources:\n\tcpus: 2\nrun: x", broken, "line 2: the line begins with a tab; YAML takes only spaces for indentation"},
		{"a missing colon", "run: x\nenvs\nname: y", broken, "line 2: the line is not a field; write NAME: VALUE"},
		{"a script that is not indented", "name: x\nrun: |\n  a\nb\n", broken, `line 4: the line is not indented, so it does not belong to "run: |" in line 2; indent it as the lines before`},
		{"a reserved character", "name: x\nrun: @x", broken, "line 2: a value that begins with @ needs quotes, or stands in the lines below a field with |"},
		{"a percent sign", "run: %x", broken, "line 1: a value that begins with % needs quotes, or stands in the lines below a field with |"},
		{"a colon in a value", "name: x\nrun: echo a: b", broken, `line 2: a value with ": " needs quotes, or stands in the lines below "run: |"`},
		{"a field that is indented too far", "name: a\n  run: x", broken, "line 2: the line is indented further than the field above, which already has a value; fields of one mapping begin in the same column"},
		{"a field that is not indented enough", "envs:\n  A: x\n B: y\nrun: x", broken, "line 3: the line does not continue what stands above it; fields of one mapping, and items of one list, begin in the same column"},
		{"a quote that is not closed", "envs:\n  A: \"a\nrun: x", broken, "line 2: a quote is not closed; write the closing quote"},
		{"a bracket that is not closed", "run: x\nresources: {cpus: 1\n", broken, "line 2: a list [ or a mapping { is not closed, or lacks a comma"},
		{"an unknown anchor", "run: *x", broken, "line 1: no value has the anchor &x, to which *x refers; a text that begins with * needs quotes"},
		{"several documents", "run: x\n---\nrun: y", invalid, "line 2: several documents in one file form a pipeline (tasks that run one after the other); submit the file with 'k8s-cli jobs submit', or send it to POST /tasks/batch as application/yaml"},
		{"a document behind empty ones", "run: x" + strings.Repeat("\n---", 200) + "\nrun: y", invalid, "more than 100 documents in one file; submit each task separately"},
		{"a tag of one's own", "run: !include x", invalid, `line 1, run: the YAML tag "!include" is not supported`},
		{"a tag on another kind", "run: x\nenvs: !!str {A: b}", invalid, "line 2, envs: the YAML tag !!str does not match its value"},
		{"a tag of a list on a text", "run: !!seq x", invalid, "line 1, run: the YAML tag !!seq does not match its value"},
		{"a tag of a mapping on a text", "run: !!map x", invalid, "line 1, run: the YAML tag !!map does not match its value"},
		{"a binary", "run: !!binary eA==", invalid, `line 1, run: the YAML tag "!!binary" is not supported`},
		{"a key that is a list", "run: x\n[a]: b", invalid, "line 2, ?: a key must be a single value"},
		{"a key that is null", "run: x\nenvs: {~: b}", invalid, "line 2, envs.?: a key must be a single value"},
		{"a merge of a text", "run: x\nenvs: {<<: b}", invalid, "line 2, envs.<<: << merges mappings, not a single value"},
		{"a key that stands there twice", "run: x\nname: a\nrun: y", invalid, "line 3, run: duplicate key, first in line 1; remove one of them"},
		{"twice in two spellings", "run: x\nenvs:\n  1: a\n  '1': b", invalid, "line 4, envs.1: duplicate key, first in line 3; remove one of them"},

		{"a tab", "name: x\nrun: |\n  echo\n\tbad: tab\n", broken, "line 4: the line begins with a tab; YAML takes only spaces for indentation"},
		{"an unknown field; remove it, or write it under envs if the scripts read it", "run: x\nzzz: 1", invalid, "line 2, zzz: unknown field; remove it, or write it under envs if the scripts read it"},
		{"a field of nobody that holds nothing", "run: x\nzzz:", invalid, "line 2, zzz: unknown field; remove it, or write it under envs if the scripts read it"},
		{"a singular", "run: x\nresources: {cpu: 1}", invalid, "line 2, resources.cpu: unknown field, did you mean cpus?"},
		{"another case", "Run: x", invalid, "line 1, Run: unknown field, did you mean run?"},
		{"a dash", "run: x\nnum-nodes: 2", invalid, "line 2, num-nodes: unknown field, did you mean num_nodes?"},
		{"half a word", "run: x\nnodes: 2", invalid, "line 2, nodes: unknown field, did you mean num_nodes?"},
		{"a field of the resources", "run: x\nimage: y", invalid, "line 2, image: unknown field, did you mean resources.image_id?"},
		{"a field of the task", "run: x\nresources: {num_nodes: 2}", invalid, "line 2, resources.num_nodes: unknown field, did you mean num_nodes at the top level of the task?"},
		{"a key that is no word", "run: x\n\"a b\\n\": y", invalid, `line 2, "a b\n": unknown field; remove it, or write it under envs if the scripts read it`},

		{"no command", "name: x", invalid, "run: a task needs a command to run"},
		{"an empty command", "name: x\nrun: ' '", invalid, "line 2, run: a task needs a command to run"},
		{"a list of commands", "run: [a, b]", invalid, "line 1, run: must be a string, not a list"},
		{"a name with blanks", "run: x\nname: a b", invalid, `line 2, name: "a b" must be letters and digits, joined by one or two of . _ -`},
		{"no nodes", "run: x\nnum_nodes: 0", invalid, `line 2, num_nodes: "0" is not a whole number from 1 to 10000`},
		{"fewer than no nodes", "run: x\nnum_nodes: -1", invalid, `line 2, num_nodes: "-1" is not a whole number from 1 to 10000`},
		{"half a node", "run: x\nnum_nodes: 1.5", invalid, `line 2, num_nodes: "1.5" is not a whole number from 1 to 10000`},
		{"a word of nodes", "run: x\nnum_nodes: two", invalid, `line 2, num_nodes: "two" is not a whole number from 1 to 10000`},
		{"too many nodes", "run: x\nnum_nodes: 99999999999999999999", invalid, `line 2, num_nodes: "99999999999999999999" is not a whole number from 1 to 10000`},
		{"infinitely many nodes", "run: x\nnum_nodes: .inf", invalid, `line 2, num_nodes: ".inf" is not a whole number from 1 to 10000`},
		{"a list of nodes", "run: x\nnum_nodes: [1]", invalid, "line 2, num_nodes: a list is not a whole number from 1 to 10000"},

		{"a variable without a value", "run: x\nenvs:\n  A:", invalid, `line 3, envs.A: has no value; write A: "" for an empty value, or pass --env A=VALUE`},
		{"a variable that is a list", "run: x\nenvs:\n  A: [1]", invalid, "line 3, envs.A: must be a string, not a list"},
		{"a list of variables", "run: x\nenvs: [A=b]", invalid, "line 2, envs: must be a mapping of names to values, not a list"},
		{"a variable with a wrong name", "run: x\nenvs:\n  1A: b", invalid, `line 2, envs: "1A" is not a valid variable name; use letters, digits and _, and do not begin with a digit`},

		{"a list of resources", "run: x\nresources: [{cpus: 1}]", invalid, "line 2, resources: must be a mapping of fields, not a list"},
		{"no cores", "run: x\nresources:\n  cpus: 0", invalid, `line 3, resources.cpus: "0" is not a positive number of cores, for example 4, 0.5, 4+ or 500m`},
		{"a wrong number of accelerators", "run: x\nresources: {accelerators: 'A100:x'}", invalid, `line 2, resources.accelerators: "A100:x" is not NAME, NAME:COUNT or COUNT`},
		{"a mapping of accelerators too much", "run: x\nresources: {accelerators: {A100: {count: 8}}}", invalid, "line 2, resources.accelerators: must be NAME, NAME:COUNT or COUNT"},
		{"a TPU VM of several machines", "run: x\nresources: {accelerators: tpu-v5p-16}", invalid, "line 2, resources.accelerators: no machine has 8 chips of tpu-v5p-slice; slices of several machines are not supported; request 4 chips"},
		{"a login of a registry", "run: x\nsecrets:\n  SKYPILOT_DOCKER_PASSWORD: p", invalid, "line 3, secrets.SKYPILOT_DOCKER_PASSWORD: registry logins are not supported; name a pull secret in config.kubernetes.pod_config, under spec.imagePullSecrets"},
		{"a variable of the entrypoint", "run: x\nenvs:\n  k8s_cli_pid: 1", invalid, `line 2, envs: variable "k8s_cli_pid" is reserved for k8s-cli; choose another name`},
		{"a TPU of another cloud service", "run: x\nresources: {accelerators: 'tpu-v2-8'}", invalid, "line 2, resources.accelerators: tpu-v2-8 is not a TPU of GKE; name one of tpu-v4-podslice, tpu-v5-lite-device, tpu-v5-lite-podslice, tpu-v5p-slice, tpu-v6e-slice"},
		{"a slice of several machines", "run: x\nresources: {accelerators: 'tpu-v6e-slice:16'}", invalid, "line 2, resources.accelerators: no machine has 16 chips of tpu-v6e-slice; slices of several machines are not supported; request 1, 4 or 8 chips"},
		{"both words for accelerators", "run: x\nresources: {accelerators: 1, gpus: 2}", invalid, "line 2, resources.gpus: accelerators and gpus are the same field; write one of them"},
		{"images by region", "run: x\nresources: {image_id: {eu: a, us: b, asia: a}}", invalid, "line 2, resources.image_id: names 2 different images by region, but all tasks run on the server's cluster; name one container image"},
		{"both names of the recovery", "run: x\nresources: {spot_recovery: FAILOVER, job_recovery: none}", invalid, "line 2, resources: spot_recovery is the old name of job_recovery; write only job_recovery"},
		{"a recovery that does not exist", "run: x\nresources: {spot_recovery: LATER}", invalid, `line 2, resources.spot_recovery: "LATER" must be none, FAILOVER or EAGER_NEXT_REGION`},
		{"an image without a name", "run: x\nresources: {image_id: {docker: null}}", invalid, "line 2, resources.image_id.docker: must be a string, not null"},
		{"a maybe", "run: x\nresources: {use_spot: maybe}", invalid, `line 2, resources.use_spot: "maybe" is neither true nor false`},
		{"bytes of disk", "run: x\nresources: {disk_size: 256b}", invalid, `line 2, resources.disk_size: "256b" is not a size, for example 256 (GB), 256GB or 1TB`},
		{"port 0", "run: x\nresources: {ports: [80,\n  0]}", invalid, `line 3, resources.ports[1]: "0" is not a port or a range of ports from 1 to 65535`},
		{"a range backwards", "run: x\nresources: {ports: 90-80}", invalid, `line 2, resources.ports: "90-80" is not a port or a range of ports from 1 to 65535`},
		{"a mapping of ports", "run: x\nresources: {ports: [{a: b}]}", invalid, "line 2, resources.ports[0]: must be a port, not a mapping"},
		{"a priority out of range", "run: x\nresources: {priority: 1001}", invalid, `line 2, resources.priority: "1001" is not a whole number from -1000 to 1000`},
		{"a strategy of nobody's", "run: x\nresources: {job_recovery: SOMEHOW}", invalid, `line 2, resources.job_recovery: "SOMEHOW" must be none, FAILOVER or EAGER_NEXT_REGION`},
		{"a success that is recovered from", "run: x\nresources: {job_recovery: {recover_on_exit_codes: [0]}}", invalid, `line 2, resources.job_recovery.recover_on_exit_codes: "0" is not a whole number from 1 to 255`},
		{"restarts without end", "run: x\nresources: {job_recovery: {max_restarts_on_errors: -1}}", invalid, `line 2, resources.job_recovery.max_restarts_on_errors: "-1" is not a whole number from 0 to 10000`},
		{"a hook in autostop", "run: x\nresources: {autostop: {idle_minutes: 5, hook: sync}}", invalid, "line 2, resources.autostop.hook: hooks are not supported"},
		{"a list for autostop", "run: x\nresources: {autostop: [5]}", invalid, "line 2, resources.autostop: must be true, false, a duration or a mapping, not a list"},

		{"a list for a directory", "run: x\nworkdir: [a]", invalid, "line 2, workdir: must be a string, not a list"},
		{"a list of images", "run: x\nresources: {image_id: [a]}", invalid, "line 2, resources.image_id: must be a string, not a list"},
		{"a list of clouds", "run: x\nresources: {infra: [a]}", invalid, "line 2, resources.infra: must be a string, not a list"},
		{"a list of inputs", "run: x\ninputs: [a]", invalid, "line 2, inputs: must be a mapping, not a list"},
		{"a mount without a volume", "run: x\nvolumes:\n  /a:", invalid, "line 3, volumes./a: must name a volume, which 'k8s-cli volumes list' shows"},
		{"a mount of an empty mapping", "run: x\nvolumes:\n  /a: {}", invalid, "line 3, volumes./a: must name a volume, which 'k8s-cli volumes list' shows"},
		{"a part outside of the volume", "run: x\nvolumes:\n  /a: {name: d, sub_path: ../e}", invalid, `line 3, volumes./a.sub_path: "../e" must be a relative path without .. inside the volume`},
		{"a volume that has a name and a size", "run: x\nvolumes:\n  /a: {name: b, size: 1Gi}", invalid, "line 3, volumes./a.size: is for per-node volumes, which have no name; create named volumes with 'k8s-cli volumes create'"},
		{"a part of what is not mounted", "run: x\nsub_paths: {/a: b}", invalid, `line 2, sub_paths: no volume is mounted at "/a"; name one under volumes`},
		{"a wrong volume name", "run: x\nvolumes:\n  /a: b\n  /c: D_", invalid, `line 4, volumes./c: "D_" is not a valid name of a volume or claim`},
		{"a list of volumes", "run: x\nvolumes: [a]", invalid, "line 2, volumes: must be a mapping of mount paths to volumes, not a list"},
		{"a misspelt key of a file mount", "run: x\nfile_mounts: {/a: {sourc: b}}", invalid, "line 2, file_mounts./a.sourc: unknown field, did you mean source?"},
		{"a bucket of Hugging Face", "run: x\nfile_mounts:\n  /a: hf://b", invalid, "line 3, file_mounts./a: hf:// is not supported, because rclone, which moves the data of buckets, does not know Hugging Face; download the files in setup, for example with huggingface-cli download"},
		{"a bucket whose store is in envs", "run: x\nenvs: {NAME: data, STORE: azure}\nfile_mounts:\n  /d: {name: $NAME, store: $STORE}", invalid, "line 4, file_mounts./d: name: the server creates no buckets in this store; create the bucket, and write source: https://ACCOUNT.blob.core.windows.net/data instead of name"},
		{"two buckets at one path in envs", "run: x\nenvs: {D: /d}\nfile_mounts:\n  $D: s3://one\n  /d/: s3://two", invalid, "line 5, file_mounts./d/: another bucket is at the same path; remove one of them"},
		{"a bucket with a list as its name", "run: x\nfile_mounts:\n  /a: {name: [b]}", invalid, "line 3, file_mounts./a.name: must be a string, not a list"},
		{"a list of buckets in the API", "run: x\nbuckets: [a]", invalid, "line 2, buckets: must be a mapping of paths to buckets, not a list"},
		{"a repository without a URL", "run: x\nworkdir: {ref: main}", invalid, "line 2, workdir: must have the url of a git repository"},
		{"an upload that is none", "run: x\nuploads:\n  /a: b", invalid, `line 3, uploads./a: "b" is not a SHA-256; write 64 hexadecimal digits in lower case`},
		{"an upload in the launcher's own directory", "run: x\nuploads: {/k8s-cli-files/a: " + sum + "}", invalid, `line 2, uploads: "/k8s-cli-files/a" is reserved for the files of k8s-cli; choose another path`},
		{"an upload outside of the home directory", "run: x\nuploads: {~/../a: " + sum + "}", invalid, `line 2, uploads: "~/../a" is not a valid path for files; remove ., .. and the trailing /`},
		{"an upload and a volume", "run: x\nvolumes: {/a/: b}\nuploads: {/a: " + sum + "}", invalid, `line 3, uploads: a volume is mounted at "/a"; choose another path`},
		{"a list of file mounts", "run: x\nfile_mounts: [a]", invalid, "line 2, file_mounts: must be a mapping of paths to sources, not a list"},
		{"labels in a list", "run: x\nresources: {labels: [a]}", invalid, "line 2, resources.labels: must be a mapping of names to strings, not a list"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := Parse([]byte(tt.text))
			checkError(t, err, tt.kind, tt.want)
		})
	}
}

// TestUnsupportedFields checks that every rejected field has a reason, and is rejected unless
// its value is null.
func TestUnsupportedFields(t *testing.T) {
	for path, fields := range map[string]schema{"": taskFields(new(task.Spec)), "resources.": resourceFields(new(plain))} {
		for name, f := range fields {
			if f.severity != isRefused {
				continue
			}
			text := name + ": {a: b}"
			if path != "" {
				text = "resources: {" + text + "}"
			}
			_, _, err := Parse([]byte("run: x\n" + text))
			checkError(t, err, problem.Invalid, "line 2, "+path+name+": "+f.text)
		}
	}
}

func TestWarnings(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"a model of a GPU", "resources: {accelerators: H100:8}", nil},
		{"a model nobody knows", "resources: {accelerators: NEXT:8}", []string{"resources.accelerators: NEXT is not a known model; the task waits for a node with a label for it, for example skypilot.co/accelerator=next"}},
		{"a variable of the launcher's", "envs: {NODE_RANK: 1, SKYPILOT_TASK_ID: x, A: b}", []string{
			"envs.NODE_RANK: set by the launcher; this value is not used", "envs.SKYPILOT_TASK_ID: set by the launcher; this value is not used",
		}},
		{"nodes that start again", "num_nodes: 2\nresources: {job_recovery: FAILOVER}", []string{"resources.job_recovery: each node restarts on its own, not all nodes together"}},
		{"nodes in a queue", "num_nodes: 2\nconfig: {kubernetes: {kueue: {local_queue_name: q}}}", []string{"config.kubernetes.kueue: Kueue admits each node on its own, not all nodes together"}},
		{"files to upload", "workdir: .\nfile_mounts: {/a: ./b}", nil},
		{"another cloud", "resources: {infra: gcp/europe-west1}", []string{"resources.infra: not used; tasks run on the server's cluster"}},
		{"another context", "resources: {infra: k8s/other}", []string{"resources.infra: not used; tasks run on the server's cluster"}},
		{"any cloud", "resources: {infra: '*/*'}", nil},
		{"the image of a machine", "resources: {image_id: 'skypilot:gpu-ubuntu-2204'}", []string{"resources.image_id: looks like a machine image, but is used as a container image"}},
		{"a stop after a time", "resources: {autostop: 10h}", []string{"resources.autostop: not used; a task ends when its scripts end"}},
		{"several, in the order of the file", "api_server_access: true\nevent_callback: x\noutputs: {a: 1}", []string{
			"api_server_access: not used; the container gets no credentials for the API server",
			"event_callback: not called, because the value is not an https URL; the server runs no commands of users",
			"outputs: not used; the server runs on one cluster and needs no cost estimate",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, got, err := Parse([]byte("run: x\n" + tt.text))
			must.Succeed(t, err)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPortsAndSizesHaveOneForm(t *testing.T) {
	for _, tt := range []struct {
		text string
		want task.Resources
	}{
		{"ports: 8080", task.Resources{Ports: []string{"8080"}}},
		{"ports: '8080'", task.Resources{Ports: []string{"8080"}}},
		{"ports: '8000,9000'", task.Resources{Ports: []string{"8000", "9000"}}},
		{"ports: ['10052-10100', 1-1, 80.0]", task.Resources{Ports: []string{"10052-10100", "1", "80"}}},
		{"disk_size: 256", task.Resources{DiskSize: 256}},
		{"disk_size: 256GB", task.Resources{DiskSize: 256}},
		{"disk_size: 256Gi", task.Resources{DiskSize: 256}},
		{"disk_size: 1.5tb", task.Resources{DiskSize: 1536}},
		{"disk_size: 100 MB", task.Resources{DiskSize: 1}},
		{"use_spot: 'Yes'", task.Resources{UseSpot: true}},
		{"use_spot: 1", task.Resources{UseSpot: true}},
	} {
		t.Run(tt.text, func(t *testing.T) {
			got, warnings, err := Parse([]byte("{run: x, resources: {" + tt.text + "}}"))
			if err != nil || (len(warnings) == 1) != (tt.want.DiskSize > 0) {
				t.Fatalf("Parse: %v, warnings %q", err, warnings)
			}
			if diff := cmp.Diff(tt.want, got.Resources); diff != "" {
				t.Errorf("resources (-want +got):\n%s", diff)
			}
		})
	}
}

func checkError(t *testing.T, err, kind error, want string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("error is not of kind %v: %v", kind, err)
	}
	if err != nil && err.Error() != want {
		t.Errorf("error\n got %s\nwant %s", err, want)
	}
}
