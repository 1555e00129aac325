package taskfile

import (
	"strings"
	"testing"
)

// A form is one way to write a field, and the expected severity. The fields and forms are
// from SkyPilot's schema (sky/utils/schemas.py) and reference
// (docs/source/reference/yaml-spec.rst).
type form struct {
	field    string // path of the field; no other field of the file may have a worse severity
	file     string // task file without run
	severity Severity
}

// sum is the SHA-256 of the empty text.
const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

var forms = []form{
	{"name", "name: train", Honoured},
	{"name", "name: Train_1.b-c", Honoured},
	{"name", "name: a---b", Refused},
	{"workdir", "workdir: /srv", Honoured},
	{"workdir", "workdir: ~/code", Honoured},
	{"workdir", "workdir: .", Honoured},
	{"workdir", "workdir: {url: https://example.com/x.git, ref: main}", Honoured},
	{"workdir", "workdir: {ref: main}", Refused},
	{"git", "git: {url: 'ssh://example.com/x.git'}", Honoured},
	{"git", "workdir: .\ngit: {url: 'ssh://example.com/x.git'}", Refused},
	{"workdir.branch", "workdir: {url: https://example.com/x.git, branch: main}", Refused},
	{"num_nodes", "num_nodes: 2", Honoured},
	{"num_nodes", "num_nodes: 0", Refused},
	{"annotations", "annotations: {commit: 4f2a91c, epoch: 3, example.com/note: 'any, text'}", Honoured},
	{"annotations", "annotations: [a]", Refused},
	{"annotations", "annotations: {'a b': c}", Refused},
	{"max_duration", "max_duration: 2h", Honoured},
	{"max_duration", "max_duration: 1d12h", Honoured},
	{"max_duration", "max_duration: null", Honoured},
	{"max_duration", "max_duration: 7200", Refused},
	{"max_duration", "max_duration: [2h]", Refused},
	{"max_duration", "max_duration: 0s", Refused},
	{"setup", "setup: 'true'", Honoured},
	{"setup", "setup: null", Honoured},
	{"run", "name: x", Honoured},
	{"envs", "envs: {A: b}", Honoured},
	{"envs", "envs: {A: 1, B: 1.5, C: true, D: 2024-01-02}", Honoured},
	{"envs.A", "envs: {A: null}", Refused},
	{"envs", "envs: {A-B: c}", Refused},
	{"secrets", "secrets: {A: b, B: 3}", Honoured},
	{"secrets.A", "secrets: {A: null}", Refused},
	{"secrets.secrets:A", "secrets: {'secrets:A': null}", Refused},
	{"secrets", "secrets: ['secrets:A']", Refused},
	{"secrets", "secrets: {}", Honoured},
	{"managed_secrets", "managed_secrets: [personal.a]", Refused},
	{"managed_secrets", "managed_secrets: [{global.a: {mount_path: /a}}]", Refused},
	{"file_mounts", "file_mounts: {/a: ./b}", Honoured},
	{"file_mounts", "file_mounts: {~/a: ~/b, c: /d}", Honoured},
	{"file_mounts", "file_mounts: {/a: s3://bucket/c, ~/b: gs://bucket, c: oci://bucket@eu-a-1/d}", Honoured},
	{"file_mounts./a", "file_mounts: {/a: hf://b/c}", Refused},
	{"file_mounts", "file_mounts: {/a: {source: s3://bucket, mode: COPY, persistent: false}}", Honoured},
	{"file_mounts./a", "file_mounts: {/a: {source: s3://bucket, mode: MOUNT}}", Warning},
	{"file_mounts./a", "file_mounts: {/a: {name: bucket, source: ./c, store: s3, mode: COPY, persistent: false}}", Warning},
	{"file_mounts./a.type", "file_mounts: {/a: {name: bucket, source: [./c, ./d], store: s3, mode: COPY, type: x}}", Warning},
	{"file_mounts./a", "file_mounts: {/a: {name: bucket, source: [./c, d/c]}}", Refused},
	{"buckets", "buckets: {/a: {url: s3://bucket, mode: MOUNT, create: true}}", Honoured},
	{"buckets./a.sauce", "buckets: {/a: {url: s3://bucket, sauce: b}}", Refused},
	{"file_mounts./a", "file_mounts: {/a: 'https://example.com/c'}", Refused},
	{"file_mounts./a", "file_mounts: {/a: ''}", Refused},
	{"uploads", "uploads: {/a: " + sum + "}", Honoured},
	{"uploads", "uploads: {~/a/b: " + sum + "}", Honoured},
	{"uploads", "uploads: {a: " + sum + "}", Refused},
	{"uploads./a", "uploads: {/a: abc}", Refused},
	{"file_mounts./a.sauce", "file_mounts: {/a: {sauce: b}}", Refused},
	{"volumes", "volumes: {/a: data}", Honoured},
	{"volumes", "volumes: {/a: {name: data}}", Honoured},
	{"volumes", "volumes: {/a: {name: data, sub_path: b/c}}", Honoured},
	{"volumes", "volumes: {/a: {size: 10Gi}}", Honoured},
	{"volumes", "volumes: {/a: {size: 10, type: k8s-pvc, labels: {a: b}, config: {storage_class_name: fast, access_mode: ReadWriteMany}}}", Honoured},
	{"volumes./a.size", "volumes: {/a: {size: much}}", Refused},
	{"volumes./a.size", "volumes: {/a: {name: data, size: 10Gi}}", Refused},
	{"volumes./a.type", "volumes: {/a: {size: 10Gi, type: runpod-network-volume}}", Refused},
	{"volumes./a.sub_path", "volumes: {/a: {size: 10Gi, sub_path: b}}", Refused},
	{"volumes./a.config.access_mode", "volumes: {/a: {size: 10Gi, config: {access_mode: Any}}}", Refused},
	{"volumes", "volumes: {/a: data, /a/: {size: 10Gi}}", Refused},
	{"ephemeral_volumes", "ephemeral_volumes: {/a: {size: 10Gi, access_mode: ReadWriteOnce}}", Honoured},
	{"volumes./a.type", "volumes: {/a: {name: data, type: k8s-pvc}}", Refused},
	{"volumes./a.labels", "volumes: {/a: {name: data, labels: {b: c}}}", Refused},
	{"volumes./a.config", "volumes: {/a: {name: data, config: {b: c}}}", Refused},
	{"volumes", "volumes: {a: data}", Refused},
	{"sub_paths", "volumes: {/a: data}\nsub_paths: {/a: b}", Honoured},
	{"service", "service: {readiness_probe: /, replicas: many, unknown: [1]}", Warning},
	{"pool", "pool: {workers: 2}", Warning},
	{"api_server_access", "api_server_access: true", Warning},
	{"api_server_access", "api_server_access: false", Honoured},
	{"inputs", "inputs: {s3://a: 10}", Warning},
	{"outputs", "outputs: {s3://a: 10}", Warning},
	{"event_callback", "event_callback: echo", Warning},
	{"event_callback", "event_callback: https://hooks.example.com/x", Honoured},
	{"file_mounts_mapping", "file_mounts_mapping: {a: b}", Warning},
	{"volume_mounts", "volume_mounts: [{a: b}]", Refused},
	{"_metadata", "_metadata: {a: b}", Warning},
	{"experimental", "experimental: {config_overrides: {a: b}}", Refused},
	{"nothing", "nothing: x", Refused},

	{"resources.infra", "resources: {infra: k8s}", Honoured},
	{"resources.infra", "resources: {infra: kubernetes/*}", Honoured},
	{"resources.infra", "resources: {infra: k8s/context}", Warning},
	{"resources.infra", "resources: {infra: aws/us-east-1/us-east-1a}", Warning},
	{"resources.cloud", "resources: {cloud: kubernetes}", Honoured},
	{"resources.cloud", "resources: {cloud: aws}", Warning},
	{"resources", "resources: {cloud: aws, infra: k8s}", Refused},
	{"resources.region", "resources: {region: us-east-1}", Warning},
	{"resources.zone", "resources: {zone: us-east-1a}", Warning},
	{"resources.cpus", "resources: {cpus: 4}", Honoured},
	{"resources.cpus", "resources: {cpus: 0.5}", Honoured},
	{"resources.cpus", "resources: {cpus: 4+}", Honoured},
	{"resources.cpus", "resources: {cpus: 500m}", Honoured},
	{"resources.cpus", "resources: {cpus: -1}", Refused},
	{"resources.memory", "resources: {memory: 16}", Honoured},
	{"resources.memory", "resources: {memory: 16+}", Honoured},
	{"resources.memory", "resources: {memory: 64GB}", Honoured},
	{"resources.memory", "resources: {memory: 512Mi}", Honoured},
	{"resources.memory", "resources: {memory: 1.5tb+}", Honoured},
	{"resources.memory", "resources: {memory: 4x}", Refused},
	{"resources.accelerators", "resources: {accelerators: H100}", Honoured},
	{"resources.accelerators", "resources: {accelerators: 'H100:8'}", Honoured},
	{"resources.accelerators", "resources: {accelerators: 'T4:0.5'}", Honoured},
	{"resources.accelerators", "resources: {accelerators: 2}", Honoured},
	{"resources.accelerators", "resources: {accelerators: {H100: 8}}", Honoured},
	{"resources.accelerators", "resources: {accelerators: 'MI300:1'}", Honoured},
	{"resources", "resources: {accelerators: {H100:8, A100:8}}", Honoured},
	{"resources", "resources: {accelerators: {H100: 8, A100: 8}}", Honoured},
	{"resources", "resources: {accelerators: ['H100:8', 'A100:8']}", Honoured},
	{"resources.accelerators", "resources: {accelerators: 'NEXT:8'}", Warning},
	{"resources.accelerators", "resources: {accelerators: 80GB}", Refused},
	{"resources.accelerators", "resources: {accelerators: 80GB+}", Refused},
	{"resources.accelerators", "resources: {accelerators: 'nvidia:80GB:2'}", Refused},
	{"resources.accelerators", "resources: {accelerators: 'tpu-v5e:8'}", Refused},
	{"resources.accelerators", "resources: {accelerators: 'tpu-v5-lite-podslice:4'}", Honoured},
	{"resources.accelerators", "resources: {accelerators: tpu-v6e-8}", Warning},
	{"resources.accelerators", "resources: {accelerators: tpu-v5litepod-16}", Refused},
	{"resources.accelerators", "resources: {accelerators: {tpu-v5p-slice: 4}}", Honoured},
	{"resources.accelerators", "resources: {accelerators: tpu-v5p-slice}", Refused},
	{"resources.accelerators", "resources: {accelerators: 'H100:0'}", Refused},
	{"resources.gpus", "resources: {gpus: 'H100:8'}", Honoured},
	{"resources.accelerator_args", "resources: {accelerator_args: {runtime_version: x, tpu_name: y, tpu_vm: true}}", Warning},
	{"resources.image_id", "resources: {image_id: 'docker:ubuntu:24.04'}", Honoured},
	{"resources.image_id", "resources: {image_id: ubuntu}", Honoured},
	{"resources.image_id", "resources: {image_id: {docker: ubuntu}}", Honoured},
	{"resources.image_id", "resources: {image_id: null}", Honoured},
	{"resources.image_id", "resources: {image_id: ami-0123456789}", Warning},
	{"resources.image_id", "resources: {image_id: {us-east-1: ami-1, us-west-1: ami-2}}", Refused},
	{"resources.image_id", "resources: {image_id: {us-east-1: ubuntu, us-west-1: ubuntu}}", Honoured},
	{"resources.image_id", "resources: {image_id: {us-east-1: ami-1, us-west-1: ami-1}}", Warning},
	{"resources.spot_recovery", "resources: {spot_recovery: {max_restarts_on_errors: 2}}", Warning},
	{"resources.ports", "resources: {ports: 8080}", Honoured},
	{"resources.ports", "resources: {ports: '8000,9000'}", Honoured},
	{"resources.ports", "resources: {ports: [8080, 10052-10100]}", Honoured},
	{"resources.ports", "resources: {ports: null}", Honoured},
	{"resources.ports", "resources: {ports: 70000}", Refused},
	{"resources.labels", "resources: {labels: {a: b, example.com/c: 4}}", Honoured},
	{"resources.labels.a", "resources: {labels: {a: 'b c'}}", Refused},
	{"resources.labels.task-id", "resources: {labels: {task-id: b}}", Refused},
	{"resources.labels.app.kubernetes.io/name", "resources: {labels: {app.kubernetes.io/name: k8s-cli-server}}", Refused},
	{"volumes./a.labels", "volumes: {/a: {size: 1Gi, labels: {app.kubernetes.io/part-of: k8s-cli}}}", Refused},
	{"config.kubernetes.custom_metadata.annotations", "config: {kubernetes: {custom_metadata: {annotations: {io.kubernetes.cri-o.Devices: b}}}}", Honoured},
	{"resources.use_spot", "resources: {use_spot: true, job_recovery: FAILOVER}", Honoured},
	{"resources.use_spot", "resources: {use_spot: false}", Honoured},
	{"resources.instance_type", "resources: {instance_type: m5.large}", Warning},
	{"resources.disk_size", "resources: {disk_size: 256}", Warning},
	{"resources.disk_size", "resources: {disk_size: 1024GB}", Warning},
	{"resources.disk_tier", "resources: {disk_tier: best}", Warning},
	{"resources.network_tier", "resources: {network_tier: best}", Warning},
	{"resources.local_disk", "resources: {local_disk: 'nvme:1000+'}", Warning},
	{"resources.max_hourly_cost", "resources: {max_hourly_cost: 1.5}", Warning},
	{"resources.ephemeral_storage", "resources: {ephemeral_storage: 50}", Honoured},
	{"resources.ephemeral_storage", "resources: {ephemeral_storage: 50GB}", Honoured},
	{"resources.autostop", "resources: {autostop: true}", Warning},
	{"resources.autostop", "resources: {autostop: 10}", Warning},
	{"resources.autostop", "resources: {autostop: 10h}", Warning},
	{"resources.autostop", "resources: {autostop: {idle_minutes: 10, down: true, wait_for: jobs}}", Warning},
	{"resources.autostop.hook", "resources: {autostop: {idle_minutes: 10, hook: x, hook_timeout: 5}}", Refused},
	{"resources", "resources: {any_of: [{use_spot: false, cpus: 2}, {cpus: 4}]}", Honoured},
	{"resources", "resources: {any_of: [{infra: k8s, image_id: null}], image_id: ubuntu}", Honoured},
	{"resources", "resources: {ordered: [{accelerators: L4}, {accelerators: T4}], cpus: 4}", Honoured},
	{"resources", "resources: {any_of: [{cpus: 1}], ordered: [{cpus: 2}]}", Refused},
	{"resources", "resources: {accelerators: [L4, T4], any_of: [{cpus: 1}]}", Refused},
	{"resources.any_of", "resources: {any_of: {cpus: 1}}", Refused},
	{"resources.any_of[1].cpus", "resources: {any_of: [{cpus: 1}, {cpus: x}]}", Refused},
	{"resources.any_of[0].ordered", "resources: {any_of: [{ordered: [{cpus: 1}]}]}", Refused},
	{"resources.any_of[0]", "resources: {any_of: [x]}", Refused},
	{"resources.job_recovery", "resources: {job_recovery: none}", Honoured},
	{"resources.job_recovery", "resources: {job_recovery: FAILOVER}", Honoured},
	{"resources.job_recovery", "resources: {job_recovery: eager_next_region}", Honoured},
	{"resources.job_recovery", "resources: {job_recovery: {strategy: FAILOVER, max_restarts_on_errors: 3, recover_on_exit_codes: 33}}", Honoured},
	{"resources.job_recovery", "resources: {job_recovery: {recover_on_exit_codes: [33, 34]}}", Honoured},
	{"resources.job_recovery", "resources: {job_recovery: SOMEHOW}", Refused},
	{"resources.priority", "resources: {priority: 500}", Honoured},
	{"resources.priority", "resources: {priority: 1001}", Refused},
	{"resources.priority_class", "resources: {priority_class: high}", Honoured},
	{"resources.priority_class", "resources: {priority_class: system-node-critical}", Refused},
	{"resources.volumes", "resources: {volumes: [{path: /a}]}", Refused},
	{"resources.hooks", "resources: {hooks: [{run: x}]}", Refused},
	{"resources._no_missing_accel_warnings", "resources: {_no_missing_accel_warnings: true}", Warning},
	{"resources._is_image_managed", "resources: {_is_image_managed: true}", Warning},
	{"resources._requires_fuse", "resources: {_requires_fuse: true}", Warning},
	{"resources._docker_login_config", "resources: {_docker_login_config: {username: x}}", Refused},
	{"resources._cluster_config_overrides", "resources: {_cluster_config_overrides: {a: b}}", Refused},

	{"config.docker", "config: {docker: {run_options: [--x]}}", Warning},
	{"config.nvidia_gpus", "config: {nvidia_gpus: {disable_ecc: true}}", Warning},
	{"config.active_workspace", "config: {active_workspace: x}", Warning},
	{"config.aws", "config: {aws: {a: b}}", Warning},
	{"config.azure", "config: {azure: {a: b}}", Warning},
	{"config.gcp", "config: {gcp: {a: b}}", Warning},
	{"config.slurm", "config: {slurm: {a: b}}", Warning},
	{"config.vast", "config: {vast: {a: b}}", Warning},
	{"config.ssh", "config: {ssh: {pod_config: {spec: {}}}}", Warning},
	{"config.hooks", "config: {hooks: [{run: x, events: [stop], timeout: 5}]}", Refused},
	{"config.jobs", "config: {jobs: {a: b}}", Refused},
	{"config.kubernetes.pod_config", "config: {kubernetes: {pod_config: {spec: {nodeSelector: {a: b}}}}}", Honoured},
	{"config.kubernetes.pod_config.spec.hostNetwork", "config: {kubernetes: {pod_config: {spec: {hostNetwork: true}}}}", Refused},
	{"config.kubernetes.custom_metadata.labels", "config: {kubernetes: {custom_metadata: {labels: {a: b}}}}", Honoured},
	{"config.kubernetes.custom_metadata.annotations", "config: {kubernetes: {custom_metadata: {annotations: {a: b}}}}", Honoured},
	{"config.kubernetes.custom_metadata.annotations.x.kubernetes.io/y", "config: {kubernetes: {custom_metadata: {annotations: {x.kubernetes.io/y: b}}}}", Refused},
	{"config.kubernetes.kueue.local_queue_name", "config: {kubernetes: {kueue: {local_queue_name: research}}}", Honoured},
	{"config.kubernetes.provision_timeout", "config: {kubernetes: {provision_timeout: 600}}", Warning},
	{"config.kubernetes.set_pod_resource_limits", "config: {kubernetes: {set_pod_resource_limits: true}}", Honoured},
	{"config.kubernetes.set_pod_resource_limits", "config: {kubernetes: {set_pod_resource_limits: 1.5}}", Warning},
	{"config.kubernetes.set_pod_resource_limits", "config: {kubernetes: {set_pod_resource_limits: false}}", Warning},
	{"config.kubernetes.remote_identity", "config: {kubernetes: {remote_identity: SERVICE_ACCOUNT}}", Warning},
	{"config.kubernetes.dws", "config: {kubernetes: {dws: {enabled: true}}}", Warning},
	{"config.kubernetes.quota", "config: {kubernetes: {quota: x}}", Warning},
	{"config.kubernetes.enable_docker", "config: {kubernetes: {enable_docker: true}}", Refused},
}

// TestEveryFormHasASeverity checks that no field of SkyPilot's schema is ignored silently.
func TestEveryFormHasASeverity(t *testing.T) {
	rank := map[Severity]int{Honoured: 0, Warning: 1, Refused: 2}
	for _, tt := range forms {
		findings := Check([]byte(tt.file+"\nrun: x\n"), Overrides{})
		worst := Finding{Severity: Honoured}
		for _, f := range findings {
			if rank[f.Severity] > rank[worst.Severity] {
				worst = f
			}
			if f.Line == 0 && f.Severity == Refused || f.Text == "" {
				t.Errorf("%s: no line or no reason: %+v", tt.file, f)
			}
		}
		if worst.Severity != tt.severity || worst.Severity != Honoured && worst.Field != tt.field {
			t.Errorf("%s: %+v, want %s of %s", tt.file, worst, tt.severity, tt.field)
		}
		found := false
		for _, f := range findings {
			found = found || f.Field == tt.field || tt.field == "resources"
		}
		if !found {
			t.Errorf("%s: nothing is said of %s: %+v", tt.file, tt.field, findings)
		}
	}
}

// TestFormsCoverEveryField checks that forms covers every supported field.
func TestFormsCoverEveryField(t *testing.T) {
	tried := map[string]bool{}
	for _, tt := range forms {
		tried[strings.SplitN(tt.field, "[", 2)[0]] = true
	}
	for _, table := range allTables() {
		for name, f := range table.fields {
			if path := table.path + name; !tried[path] && (!f.group || len(f.text) > 0) && path != "resources.ordered" {
				t.Errorf("no form of %s is tried", path)
			}
		}
	}
}

// TestCheckSaysWhatParseSays checks that Check and Parse agree.
func TestCheckSaysWhatParseSays(t *testing.T) {
	for _, tt := range forms {
		text := []byte(tt.file + "\nrun: x\n")
		_, warnings, err := Parse(text)
		if (err != nil) != (tt.severity == Refused) {
			t.Errorf("%s: %v", tt.file, err)
		}
		var said []string
		for _, f := range Check(text, Overrides{}) {
			if f.Severity == Warning {
				said = append(said, f.Field+": "+f.Text)
			}
		}
		if err == nil && strings.Join(said, "\n") != strings.Join(warnings, "\n") {
			t.Errorf("%s: Check warns %q, Parse %q", tt.file, said, warnings)
		}
	}
}
