package features

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// texts are values that users and programs write into text fields. Most fields reject most
// of them.
var texts = []string{
	"a", "A", "train", "Train_1.b-c", "0", "1", "4", "4+", "0.5", "500m", "1e3", "-1", "0.001", "999999999", "", " ", "a b", "a/b", "a.b/c", "example.com/key",
	"kubernetes.io/arch", "x.kubernetes.io/y", "batch.kubernetes.io/job-name", "job-name", "controller-uid", "task-id", "skypilot-owner", "kueue.x-k8s.io/queue-name",
	"..", ".", "-", "a-", "-a", "_", "a_b", "ü", "🚀", "\x01", "\n", "a\nb", "\t", "$(A)", "$$", "${A}", "$A", "\"", "'", "\\", "{}", "[]", "null", "true", "~", "#",
	"/", "/a", "/a/", "//a//b", "/a/../b", "/a:b", "/k8s-cli", "/k8s-cli/x", "/k8s-cliX", "/dev/shm", "/proc", "~/x", "./x", "../x",
	"16", "16+", "512Mi", "64GB", "1.5Ti", "8191Pi", "0.000001k", "H100", "H100:8", "T4:0.5", "MI300X:2", "NEXT:1", "A100-80GB:1024", "2", "m.m_m-9:1",
	"python:3.13", "docker:ubuntu", "docker:", "registry.example:5000/a/b:c", "ubuntu@sha256:" + strings.Repeat("0", 64), "Upper/Case", "ami-1",
	"none", "FAILOVER", "eager_next_region", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Equal", "NoSchedule", "NoExecute", "Memory", "Always", "IfNotPresent",
	"high", "system-node-critical", "default-scheduler", "nvidia", "NET_RAW", "ALL", "RuntimeDefault", "OnRootMismatch", "rdma/ib", "hugepages-2Mi", "vendor.example/dev",
	strings.Repeat("n", 63), strings.Repeat("n", 64), strings.Repeat("n", 253), strings.Repeat("a.", 126) + "a", strings.Repeat("x", 3000),
}

// A generator writes random task files from a seed.
type generator struct{ *rand.Rand }

func (m generator) text() any { return texts[m.IntN(len(texts))] }

// value returns one of the valid values most of the time, and any value otherwise.
func (m generator) value(suits ...any) any {
	if len(suits) > 0 && m.IntN(4) > 0 {
		return suits[m.IntN(len(suits))]
	}
	switch m.IntN(12) {
	case 0:
		return m.IntN(300) - 10
	case 1:
		return m.IntN(2) == 0
	case 2:
		return nil
	}
	return m.text()
}

// some returns an object with a random third of these fields.
func (m generator) some(fields map[string]func() any) any {
	return m.few(3, fields)
}

// few returns an object with each of these fields with probability 1/rarely. The same seed
// gives the same file.
func (m generator) few(rarely int, fields map[string]func() any) any {
	all := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if m.IntN(rarely) == 0 {
			all[name] = fields[name]()
		}
	}
	return all
}

func (m generator) mapping(keys, values []any) any {
	all := map[string]any{}
	for range m.IntN(4) {
		all[fmt.Sprint(m.value(keys...))] = m.value(values...)
	}
	return all
}

func (m generator) list(most int, make func() any) any {
	all := []any{}
	for range m.IntN(most + 1) {
		all = append(all, make())
	}
	return all
}

func these(texts ...any) []any { return texts }

func (m generator) labels() any {
	return m.mapping(these("team", "a.b/c", "example.com/x_y"), these("search", "4", "", "x_y.z"))
}

func (m generator) resources(inner bool) any {
	fields := map[string]func() any{
		"cpus":              func() any { return m.value("4", 4, "0.5+", "500m") },
		"memory":            func() any { return m.value("16", 16, "512Mi", "1.5tb") },
		"accelerators":      func() any { return m.value("H100:8", "T4:0.5", 2, "MI300", map[string]any{"L4": 1}) },
		"image_id":          func() any { return m.value("docker:ubuntu", "python:3.13") },
		"labels":            m.labels,
		"priority_class":    func() any { return m.value("high", "low.x") },
		"ephemeral_storage": func() any { return m.value(10, "50GB") },
		"ports":             func() any { return m.value(8080, "1-9") },
		"job_recovery": func() any {
			return m.value("none", "FAILOVER", m.some(map[string]func() any{
				"strategy":               func() any { return m.value("none", "FAILOVER") },
				"max_restarts_on_errors": func() any { return m.value(1, 3, 0) },
				"recover_on_exit_codes":  func() any { return m.value(33, []any{137, 1, 1, 255}) },
			}))
		},
	}
	if !inner && m.IntN(4) == 0 {
		fields["any_of"] = func() any { return m.list(3, func() any { return m.resources(true) }) }
	}
	return m.some(fields)
}

func (m generator) expression() any {
	return map[string]any{
		"key": m.value("zone", "a.b/c"), "operator": m.value("In", "NotIn", "Exists", "Gt"),
		"values": m.list(2, func() any { return m.value("a", "7", "") }),
	}
}

func (m generator) podConfig() any {
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	expressions := func() any {
		return map[string]any{"matchExpressions": m.list(2, m.expression)}
	}
	term := func() any {
		return map[string]any{"topologyKey": m.value("zone"), "labelSelector": m.some(map[string]func() any{"matchLabels": m.labels, "matchExpressions": func() any { return m.list(1, m.expression) }})}
	}
	pods := func() any {
		return m.some(map[string]func() any{
			required: func() any { return m.list(2, term) },
			preferred: func() any {
				return m.list(2, func() any { return map[string]any{"weight": m.value(1, 100), "podAffinityTerm": term()} })
			},
		})
	}
	spec := map[string]func() any{
		"nodeSelector":      m.labels,
		"imagePullSecrets":  func() any { return m.list(2, func() any { return map[string]any{"name": m.value("registry")} }) },
		"priorityClassName": func() any { return m.value("high") },
		"runtimeClassName":  func() any { return m.value("nvidia") },
		"schedulerName":     func() any { return m.value("volcano") },
		"tolerations": func() any {
			return m.list(3, func() any {
				return m.some(map[string]func() any{
					"key": func() any { return m.value("a.b/c", "dedicated") }, "operator": func() any { return m.value("Exists", "Equal") },
					"value": func() any { return m.value("x") }, "effect": func() any { return m.value("NoSchedule", "NoExecute") },
					"tolerationSeconds": func() any { return m.value(0, 5) },
				})
			})
		},
		"topologySpreadConstraints": func() any {
			return m.list(2, func() any {
				return m.some(map[string]func() any{
					"topologyKey": func() any { return m.value("kubernetes.io/hostname", "zone") }, "maxSkew": func() any { return m.value(1, 3) },
					"whenUnsatisfiable": func() any { return m.value("DoNotSchedule", "ScheduleAnyway") },
				})
			})
		},
		"terminationGracePeriodSeconds": func() any { return m.value(0, 30) },
		"activeDeadlineSeconds":         func() any { return m.value(1, 3600) },
		"securityContext": func() any {
			return m.some(map[string]func() any{
				"runAsUser": func() any { return m.value(0, 1000) }, "runAsNonRoot": func() any { return m.value(true) }, "fsGroup": func() any { return m.value(1000) },
				"fsGroupChangePolicy": func() any { return m.value("Always") }, "supplementalGroups": func() any { return []any{m.value(1), m.value(1)} },
			})
		},
		"affinity": func() any {
			return m.some(map[string]func() any{
				"nodeAffinity": func() any {
					return m.some(map[string]func() any{
						required: func() any { return map[string]any{"nodeSelectorTerms": m.list(2, expressions)} },
						preferred: func() any {
							return m.list(2, func() any { return map[string]any{"weight": m.value(1), "preference": expressions()} })
						},
					})
				},
				"podAffinity": pods, "podAntiAffinity": pods,
			})
		},
		"volumes": func() any {
			return m.list(2, func() any {
				return map[string]any{"name": m.value("scratch", "dshm", "other"), "emptyDir": m.some(map[string]func() any{
					"medium": func() any { return m.value("", "Memory") }, "sizeLimit": func() any { return m.value("1Gi", "1") },
				})}
			})
		},
		"containers": func() any {
			return []any{m.some(map[string]func() any{
				"name": func() any { return m.value("ray-node") },
				"env": func() any {
					return m.list(2, func() any { return map[string]any{"name": m.value("A", "B"), "value": m.value("x")} })
				},
				"imagePullPolicy": func() any { return m.value("Always") },
				"resources": func() any {
					return map[string]any{"limits": m.mapping(these("rdma/ib", "v.example/x"), these(1, "2", 0))}
				},
				"securityContext": func() any {
					return m.some(map[string]func() any{
						"runAsUser":    func() any { return m.value(5) },
						"capabilities": func() any { return map[string]any{"drop": m.list(2, func() any { return m.value("ALL", "NET_RAW") })} },
					})
				},
				"volumeMounts": func() any {
					return m.list(1, func() any {
						return map[string]any{"name": m.value("scratch", "dshm"), "mountPath": m.value("/scratch", "/dev/shm")}
					})
				},
			})}
		},
	}
	return map[string]any{"spec": m.few(8, spec), "metadata": m.some(map[string]func() any{"labels": m.labels, "annotations": m.labels})}
}

func (m generator) file() []byte {
	fields := map[string]func() any{
		"name":      func() any { return m.value("train", "Train_1.b-c") },
		"num_nodes": func() any { return m.value(1, 2) },
		"workdir":   func() any { return m.value("/tmp", "~/x") },
		"setup":     func() any { return m.value("echo $(x) $$") },
		"envs":      func() any { return m.mapping(these("A", "B", "C_D"), these("x", 1)) },
		"secrets":   func() any { return m.mapping(these("A", "TOKEN"), these("x", 1)) },
		"volumes": func() any {
			return m.mapping(these("/a", "/b", "/dev/shm", "/a/$A"), these("data", "other", map[string]any{"name": "data", "sub_path": m.value("x/y")}, map[string]any{"size": m.value("1Gi", 2)}))
		},
	}
	all := m.some(fields).(map[string]any)
	all["run"] = m.value("true")
	if m.IntN(2) == 0 {
		all["resources"] = m.resources(false)
	}
	if m.IntN(2) == 0 {
		all["config"] = map[string]any{"kubernetes": m.some(map[string]func() any{
			"pod_config":      m.podConfig,
			"kueue":           func() any { return map[string]any{"local_queue_name": m.value("research")} },
			"custom_metadata": func() any { return m.some(map[string]func() any{"labels": m.labels, "annotations": m.labels}) },
		})}
	}
	raw, _ := json.Marshal(all)
	return raw
}
