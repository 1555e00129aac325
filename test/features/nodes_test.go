package features

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// services returns the Services of the namespace.
func (c *cluster) services(t *testing.T) []corev1.Service {
	t.Helper()
	list, err := c.CoreV1().Services(c.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("list services: %v", err)
	}
	return list.Items
}

// awaitServices waits until there are n Services.
func (c *cluster) awaitServices(t *testing.T, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d Services", n), func() (string, bool) {
		all := c.services(t)
		return fmt.Sprintf("%d Services", len(all)), len(all) == n
	})
}

// addresses returns the addresses of a task's pods by rank.
func (c *cluster) addresses(t *testing.T, id string, nodes int) []string {
	t.Helper()
	all := make([]string, nodes)
	for _, pod := range c.pods(t, id) {
		for rank := range all {
			if pod.Labels[task.LabelNode] == fmt.Sprint(rank) {
				all[rank] = pod.Status.PodIP
			}
		}
	}
	return all
}

// linesOf returns the lines of one node in a log of several nodes.
func linesOf(text string, rank int) (lines []string) {
	for line := range strings.Lines(text) {
		if own, ok := strings.CutPrefix(line, fmt.Sprintf("node-%d | ", rank)); ok {
			lines = append(lines, strings.TrimSuffix(own, "\n"))
		}
	}
	return lines
}

// Every node has the addresses of all nodes by rank, in both scripts, and the names of the
// nodes resolve to these addresses.
func TestNodesKnowPeerAddresses(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	id := ann.submit(t, `
name: 3_nodes
num_nodes: 3
setup: echo "$SKYPILOT_SETUP_NODE_IPS"
run: |
  echo "$SKYPILOT_NODE_IPS"
  hostname
  domain=$(sed -n 's/.*node-[0-9]\.\([^[:space:]]*\).*/\1/p' /etc/hosts)
  for rank in 0 1 2; do nslookup "node-$rank.$domain" | sed -n 's/^Address: //p' | tail -n1; done
  echo "$domain" | cut -d. -f1
`)
	text := ann.log(t, id, client.LogOptions{})
	ann.await(t, id, task.Completed)
	addresses := ann.addresses(t, id, 3)
	for rank := range addresses {
		want := slices.Concat(addresses, addresses, []string{task.HostName(rank)})
		got := linesOf(text, rank)
		if len(got) < len(want) || !slices.Equal(got[:len(want)], want) || got[len(got)-1] != "task-3-nodes-"+id {
			t.Errorf("node %d says %q, want %q", rank, got, want)
		}
	}
}

// Nodes that end at once do not prevent the others from starting.
func TestNodesThatEndImmediately(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	for range 3 {
		text := ann.run(t, `
num_nodes: 4
run: echo "$SKYPILOT_NODE_IPS" | wc -l
`)
		for rank := range 4 {
			if got := linesOf(text, rank); !slices.Equal(got, []string{"4"}) {
				t.Errorf("node %d says %q", rank, got)
			}
		}
	}
}

// The Service is deleted with the Jobs, however the task ends.
func TestServiceIsDeletedWithTheJobs(t *testing.T) {
	t.Parallel()
	ann := start(t, "--keep-jobs", "1s").as(t, "ann")
	for name, tt := range map[string]struct {
		script string
		end    task.Phase
	}{
		"a stop":                      {"sleep 10000", task.Stopped},
		"a failure":                   {`if [ "$NODE_RANK" = 1 ]; then exit 1; fi; sleep 10000`, task.Failed},
		"a failure of the first node": {`if [ "$NODE_RANK" = 0 ]; then exit 1; fi; sleep 10000`, task.Failed},
		"the end":                     {"true", task.Completed},
	} {
		id := ann.submit(t, "num_nodes: 2\n"+yaml("run", tt.script))
		if tt.end == task.Stopped {
			ann.await(t, id, task.Running)
			if n := len(ann.services(t)); n != 1 {
				t.Errorf("%d Services", n)
			}
			ann.stop(t, id)
		}
		ann.await(t, id, tt.end)
		ann.awaitNothing(t, id)
		ann.awaitServices(t, 0)
		t.Log(name)
	}
}

// Nodes that must be on different hosts are. If there are too few hosts, the status says so
// and no script starts.
func TestNodesAreSpread(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	id := ann.submit(t, `
num_nodes: 2
run: echo began
config: {kubernetes: {pod_config: {spec: {topologySpreadConstraints: [{topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}],
  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {team: a}}}]}}},
  metadata: {labels: {team: a}}}}}
`)
	ann.awaitWhere(t, id, "one node waits for a host", func(s task.Status) bool {
		return s.Metadata.Running == 1 && slices.ContainsFunc(s.Metadata.Nodes, func(n task.Node) bool { return n.Reason == "Unschedulable" })
	})
	ann.stop(t, id)
	ann.awaitNothing(t, id)
}
