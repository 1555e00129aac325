package chart

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/submit/objects"
	"k8s-cli/pkg/task"
)

// The pods and addresses of the tables. Tasks a and b have one node each, tasks c and d have
// two. The trainers and the replay are those of the job group in docs/taskfile.md.
var (
	a0       = node("a", 1, nil, 0, "10.1.0.1")
	b0       = node("b", 1, nil, 0, "10.1.0.2")
	c0       = node("c", 2, nil, 0, "10.1.0.3")
	c1       = node("c", 2, nil, 1, "10.1.0.4")
	d1       = node("d", 2, nil, 1, "10.1.0.5")
	trainer0 = node("t", 2, &task.JobGroup{}, 0, "10.1.0.6")
	trainer1 = node("t", 2, &task.JobGroup{}, 1, "10.1.0.7")
	replay0  = node("r", 1, &task.JobGroup{}, 0, "10.1.0.8")
	single0  = node("s", 1, &task.JobGroup{}, 0, "10.1.0.9")
	server   = endpoint{namespace: "k8s-cli", address: "10.1.1.1", ports: map[string]int32{"http": 8000, "files": 8001, "metrics": 9090}, labels: map[string]string{
		"app.kubernetes.io/name": "k8s-cli-server", "app.kubernetes.io/instance": "k8s-cli",
	}}
	natsNode = endpoint{namespace: "k8s-cli", address: "10.1.1.2", ports: map[string]int32{"client": 4222, "route": 6222}, labels: map[string]string{
		"app.kubernetes.io/name": "k8s-cli-nats", "app.kubernetes.io/instance": "k8s-cli",
	}}
	ingressController = endpoint{namespace: "ingress", address: "10.1.2.1", labels: map[string]string{"app": "nginx"}}
	database          = endpoint{namespace: "team", address: "10.1.2.2", labels: map[string]string{"app": "postgres"}}
	monitoring        = endpoint{namespace: "monitoring", address: "10.1.2.3", labels: map[string]string{"app": "prometheus"}}
	dns               = endpoint{namespace: "kube-system", address: "10.1.2.4", labels: map[string]string{"k8s-app": "kube-dns"}}
	intruder          = endpoint{namespace: "k8s-cli-tasks", address: "10.1.2.5", labels: map[string]string{"app": "other"}} // in the namespace of the tasks, but not a pod of a task
	nearby            = endpoint{namespace: "k8s-cli", address: "10.1.2.6", labels: map[string]string{"app": "other"}}

	internet   = endpoint{address: "93.184.216.34"}
	internetV6 = endpoint{address: "2606:2800:220:1::1"}
	metadata   = endpoint{address: "169.254.169.254"}
	metadataV6 = endpoint{address: "fd00:ec2::254"}
	linkV6     = endpoint{address: "fe80::1"}
	nodeLocal  = endpoint{address: "169.254.20.10"}
	kubelet    = endpoint{address: "10.0.0.7"}
)

// node returns the pod of one of several nodes of a task, with the labels that the server sets.
func node(id string, nodes int, group *task.JobGroup, rank int, address string) endpoint {
	r := &task.Record{Submit: task.Submit{ID: id, User: "ann", Task: task.Spec{Name: "train", NumNodes: nodes}, JobGroup: group}}
	return endpoint{namespace: "k8s-cli-tasks", labels: objects.Jobs(r, "k8s-cli-tasks")[rank].Spec.Template.Labels, address: address}
}

type connection struct {
	name     string
	from, to endpoint
	port     int32
	want     bool
}

// judge compares the connections that the rendered policies allow with the expected ones, on
// both kinds of networks. The results for these tables are the same on both kinds.
func judge(t *testing.T, values string, table []connection) {
	t.Helper()
	all := policies(t, rendered(t, render(t, "k8s-cli", "--set", values)))
	for _, blocksHavePods := range []bool{false, true} {
		n := network{all, blocksHavePods}
		for _, c := range table {
			for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
				if protocol == corev1.ProtocolUDP && c.port != 53 {
					continue
				}
				if got := n.allows(c.from, c.to, port{c.port, protocol}); got != c.want {
					t.Errorf("%s (%d/%s, blocks of addresses with pods: %t): allowed is %t, want %t", c.name, c.port, protocol, blocksHavePods, got, c.want)
				}
			}
		}
	}
}

func TestNetworkPoliciesOfTasks(t *testing.T) {
	t.Parallel()
	table := []connection{
		{"the first node reaches the second", c0, c1, 29500, true},
		{"the second node reaches the first", c1, c0, 29500, true},
		{"a task of one node reaches another", a0, b0, 8888, false},
		{"the first node of a task reaches a task of one node", c0, b0, 8888, false},
		{"somebody beside the tasks reaches one", intruder, a0, 8888, false},
		{"somebody beside the tasks reaches a second node", intruder, c1, 8888, false},
		{"a pod elsewhere reaches a task", database, a0, 8888, false},
		{"the API reaches a task", server, a0, 8888, false},
		{"an address outside reaches a task", internet, a0, 22, false},

		{"a task gets its files", a0, server, 8001, true},
		{"a task asks the API", a0, server, 8000, false},
		{"a node of several asks the API", c1, server, 8000, false},
		{"a task reaches the operators' port", a0, server, 9090, false},
		{"a task reaches NATS", a0, natsNode, 4222, false},
		{"a task reaches the routes of NATS", a0, natsNode, 6222, false},

		{"a task asks DNS", a0, dns, 53, true},
		{"a task asks DNS on its machine", a0, nodeLocal, 53, true},
		{"a task reaches DNS' machine address otherwise", a0, nodeLocal, 80, false},
		{"a task reaches the internet", a0, internet, 443, true},
		{"a task reaches the internet by IPv6", a0, internetV6, 443, true},
		{"a task reaches metadata", a0, metadata, 80, false},
		{"a task asks metadata as DNS", a0, metadata, 53, false},
		{"a task reaches metadata by IPv6", a0, metadataV6, 80, false},
		{"a task reaches the link by IPv6", a0, linkV6, 80, false},
		{"a second node reaches metadata", c1, metadata, 80, false},
	}
	for _, values := range []string{"metrics.port=9090", "log=external,external.url=nats://n:4222,metrics.port=9090"} {
		of := table
		if values != "metrics.port=9090" { // without a NATS of the chart there is no policy for NATS
			of = nil
			for _, c := range table {
				if c.to.address != natsNode.address {
					of = append(of, c)
				}
			}
		}
		judge(t, values, of)
	}
}

// Every node of a job group reaches every other one, whatever the number of nodes of a task may be.
func TestNetworkPoliciesOfJobGroups(t *testing.T) {
	t.Parallel()
	for _, values := range []string{"replicas=3", "server.flags.max-nodes=1"} {
		var table []connection
		pods := map[string]endpoint{"trainer-0": trainer0, "trainer-1": trainer1, "replay-0": replay0, "another task of one node": single0}
		for from, e := range pods {
			for to, f := range pods {
				if from != to {
					table = append(table, connection{from + " reaches " + to, e, f, 7000, true})
				}
			}
			table = append(table,
				connection{from + " reaches a task of one node", e, a0, 8888, false},
				connection{"a task of one node reaches " + from, a0, e, 7000, false},
				connection{"somebody beside the tasks reaches " + from, intruder, e, 7000, false})
		}
		judge(t, values, table)
	}
}

// A static policy cannot distinguish tasks of several nodes. The test documents this limit,
// so that no reader relies on such a separation.
func TestNetworkPoliciesDoNotSeparateTasksOfSeveralNodes(t *testing.T) {
	t.Parallel()
	judge(t, "replicas=3", []connection{
		{"nodes of two tasks reach each other", c1, d1, 8888, true},
		{"first nodes of two tasks reach each other", c0, trainer0, 8888, true},
		{"a second node reaches a task of one node", c1, a0, 8888, false},
		{"a task of one node reaches a second node", a0, d1, 8888, false},
	})
}

func TestNetworkPolicyOfTheAPI(t *testing.T) {
	t.Parallel()
	judge(t, "metrics.port=9090,metrics.from[0].namespaceSelector.matchLabels.kubernetes\\.io/metadata\\.name=monitoring", []connection{
		{"an ingress controller asks the API", ingressController, server, 8000, true},
		{"a pod of the release's namespace asks the API", nearby, server, 8000, true},
		{"a pod of the tasks' namespace asks the API", intruder, server, 8000, false},
		{"a pod of the tasks' namespace that is no task asks for files", intruder, server, 8001, false},
		{"an ingress controller asks for files", ingressController, server, 8001, false},
		{"monitoring reads metrics", monitoring, server, 9090, true},
		{"somebody else reads metrics", ingressController, server, 9090, false},
		{"an address outside asks the API", internet, server, 8000, false},
	})
	judge(t, "networkPolicy.from[0].podSelector.matchLabels.app=nginx,networkPolicy.from[0].namespaceSelector.matchLabels.kubernetes\\.io/metadata\\.name=ingress", []connection{
		{"the one that is named asks the API", ingressController, server, 8000, true},
		{"another pod asks the API", database, server, 8000, false},
		{"a task asks the API", a0, server, 8000, false},
		{"a task gets its files", a0, server, 8001, true},
	})
}

func TestNetworkPoliciesCanBeExtended(t *testing.T) {
	t.Parallel()
	judge(t, "networkPolicy.tasks.exceptCIDRs={10.0.0.0/8,2606:2800::/32},"+
		"networkPolicy.tasks.egress[0].ports[0].port=5432,networkPolicy.tasks.egress[0].to[0].namespaceSelector.matchLabels.kubernetes\\.io/metadata\\.name=team,"+
		"networkPolicy.tasks.ingress[0].ports[0].port=8888,networkPolicy.tasks.ingress[0].from[0].namespaceSelector.matchLabels.kubernetes\\.io/metadata\\.name=ingress", []connection{
		{"a task reaches the database that is named", a0, database, 5432, true},
		{"a task reaches something else there", a0, database, 22, false},
		{"a task reaches monitoring", a0, monitoring, 9090, false},
		{"a task reaches a kubelet", a0, kubelet, 10250, false},
		{"a task reaches an excepted network by IPv6", a0, internetV6, 443, false},
		{"a task reaches the internet", a0, internet, 443, true},
		{"a task gets its files", a0, server, 8001, true},
		{"a task asks DNS", a0, dns, 53, true},
		{"the first node reaches the second", c0, c1, 29500, true},
		{"an ingress controller reaches a notebook", ingressController, a0, 8888, true},
		{"an ingress controller reaches something else there", ingressController, a0, 22, false},
	})
}

// Tasks in the namespace of the release do not reach the API.
func TestNetworkPoliciesInOneNamespace(t *testing.T) {
	t.Parallel()
	here := func(e endpoint) endpoint {
		e.namespace = "k8s-cli"
		return e
	}
	judge(t, "tasks.namespace=k8s-cli", []connection{
		{"a task asks the API", here(a0), server, 8000, false},
		{"a task gets its files", here(a0), server, 8001, true},
		{"a task reaches NATS", here(a0), natsNode, 4222, false},
		{"another pod there asks the API", nearby, server, 8000, true},
		{"the API reaches NATS", server, natsNode, 4222, true},
	})
}

// The evaluator is correct for a cluster without policies, and for one policy that allows
// nothing.
func TestEvaluator(t *testing.T) {
	t.Parallel()
	if !(network{}).allows(a0, server, port{number: 8000}) {
		t.Error("without policies a connection is denied")
	}
	all := policies(t, rendered(t, render(t, "k8s-cli", "--set", "networkPolicy.enabled=false")))
	if len(all) > 0 {
		t.Errorf("%d policies, though there shall be none", len(all))
	}
	all = policies(t, rendered(t, render(t, "k8s-cli", "--set", "networkPolicy.tasks.enabled=false")))
	for address, want := range map[*endpoint]bool{&metadata: true, &server: false} {
		if got := (network{all, true}).allows(a0, *address, port{number: 8000}); got != want {
			t.Errorf("without policies of tasks, one reaches %s: %t", address.address, got)
		}
	}
	unlabelled := a0
	unlabelled.labels = maps.Clone(a0.labels)
	delete(unlabelled.labels, task.LabelTask)
	if (network{all, true}).allows(unlabelled, server, port{number: 8001}) {
		t.Error("a pod that is no task gets files")
	}
}

// The server gives pods the address of the port for files, and the Service leads to that
// port.
func TestFilesHaveAPortOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		values, url string
		port        int64
	}{
		{"replicas=3", "http://k8s-cli.k8s-cli.svc:8001", 8001},
		{"service.filesPort=9001", "http://k8s-cli.k8s-cli.svc:9001", 9001},
		{"server.advertiseURL=https://files.example.com", "https://files.example.com", 8001},
	} {
		all := rendered(t, render(t, "k8s-cli", "--set", tt.values))
		args := serverArgs(t, all)
		if !slices.Contains(args, "--files-listen=0.0.0.0:8001") || !slices.Contains(args, "--advertise-url="+tt.url) {
			t.Errorf("%s: the server is told %v", tt.values, args)
		}
		leads := slices.ContainsFunc(at(t, find(t, all, "Service", "k8s-cli"), "spec", "ports").([]any), func(p any) bool {
			port := p.(map[string]any)
			return port["port"] == tt.port && port["targetPort"] == "files"
		})
		if listens := listens(t, all, "files", 8001); !leads || !listens {
			t.Errorf("%s: the Service leads to the port of files: %t; the container has it: %t", tt.values, leads, listens)
		}
	}
}
