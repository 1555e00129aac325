package features

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// The end of a log outlives its pod, however the pod ended, and the server.
func TestLogsOutliveTheirPods(t *testing.T) {
	t.Parallel()
	s := start(t, "--keep-jobs", "1s", "--durability", "os")
	ann := s.as(t, "ann")
	ends := ann.submit(t, "num_nodes: 2\nrun: |\n  echo one; echo; printf 'two\\r100%%\\n%s' $NODE_RANK\n")
	fails := ann.submit(t, "run: |\n  echo out of luck >&2; exit 3\n")
	stopped := ann.submit(t, "run: |\n  trap 'echo last words; exit 0' TERM\n  echo begun\n  sleep 3600 & wait\n")
	removed := ann.submit(t, yaml("run", endless))
	waits := ann.submit(t, idle)
	for _, id := range []string{stopped, removed} {
		ann.follow(t, id, client.LogOptions{}).awaitText(t, "begun\n")
	}
	ann.stop(t, stopped)
	ann.stop(t, waits)
	job := ann.jobs(t, removed)[0].Name // as kubectl delete does
	must.Succeed(t, ann.BatchV1().Jobs(ann.namespace).Delete(t.Context(), job, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
	ann.await(t, ends, task.Completed)
	ann.await(t, fails, task.Failed)
	ann.await(t, removed, task.Failed)
	want := map[string]string{
		ends:    "node-0 | \nnode-0 | 0\nnode-0 | one\nnode-0 | two\r100%\nnode-1 | \nnode-1 | 1\nnode-1 | one\nnode-1 | two\r100%\n",
		fails:   "out of luck\n",
		stopped: "begun\nlast words\n",
		removed: "begun\n",
		waits:   "",
	}
	for id := range want {
		ann.awaitNothing(t, id)
	}
	s.process.Kill()
	ann = s.again(t).as(t, "ann")
	for id, want := range want {
		for name, o := range map[string]client.LogOptions{"followed": {}, "as it is": {NoFollow: true}} {
			got := ann.log(t, id, o)
			if id == ends {
				got = sorted(got)
			}
			if got != want {
				t.Errorf("%s, the log is %q, want %q", name, got, want)
			}
		}
		if s := ann.task(t, id); !s.Phase.Over() {
			t.Errorf("task %s is %s", id, sketch(s))
		}
	}
	for _, tt := range []struct {
		id   string
		o    client.LogOptions
		want string
	}{
		{stopped, client.LogOptions{Tail: new(1)}, "last words\n"},
		{ends, client.LogOptions{Tail: new(1), Node: new(1)}, "node-1 | 1\n"},
		{ends, client.LogOptions{Tail: new(2), Node: new(0)}, "node-0 | two\r100%\nnode-0 | 0\n"},
		{stopped, client.LogOptions{Since: patience * 10}, "begun\nlast words\n"},
		{stopped, client.LogOptions{Since: 1}, ""},
	} {
		if got := ann.log(t, tt.id, tt.o); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.o, got, tt.want)
		}
	}
	if got := ann.log(t, stopped, client.LogOptions{Timestamps: true, Tail: new(1)}); !strings.HasSuffix(got, "Z last words\n") {
		t.Errorf("with its time: %q", got)
	}
}

// Followers switch from one server to another, after broken connections and because a server
// ends. Each follower gets each line once. The followers of one pod share a stream.
func TestLogFollowersSwitchServers(t *testing.T) {
	t.Parallel()
	a, b := startTwo(t)
	gate := newGate(t, a.cluster)
	address := func(s *server) string { return strings.TrimPrefix(s.url, "http://") }
	w := linkTo(t, address(a))
	ann := a.as(t, "ann")
	id := ann.submit(t, "num_nodes: 2\nenvs: {GATE: "+gate.url+"}\n"+
		yaml("run", "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo $i; echo; [ $((i % 300)) = 0 ] && sleep 1; done; head -c 300000 /dev/zero | tr '\\0' x; echo; wget -qO- $GATE"))
	there := &user{Client: client.New("http://"+w.Address(), "ann"), server: b, name: "ann"}
	t.Cleanup(there.Close)
	var followers []*reader
	for range 20 {
		followers = append(followers, there.follow(t, id, client.LogOptions{}))
	}
	for i, s := range []*server{b, a, b} {
		followers[0].awaitText(t, fmt.Sprintf("node-0 | %d\n", 400+600*i))
		w.LeadTo(address(s))
	}
	a.process.terminate(t)
	followers[0].awaitText(t, "node-1 | 2900\n")
	gate.opens()
	var want string
	for rank := range 2 {
		prefix := fmt.Sprintf("node-%d | ", rank)
		for i := range 3000 {
			want += prefix + fmt.Sprint(i+1) + "\n" + prefix + "\n"
		}
		want += prefix + strings.Repeat("x", 300000) + "\n"
	}
	for i, f := range followers {
		if got := byNode(f.rest(t)); got != want {
			t.Errorf("follower %d got %d bytes, want %d: %x", i, len(got), len(want), sha256.Sum256([]byte(got)))
		}
	}
}

// byNode groups the lines of each node, in their order.
func byNode(text string) string {
	var nodes [2]strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "node-0 | ") {
			nodes[0].WriteString(line)
		} else {
			nodes[1].WriteString(line)
		}
	}
	return nodes[0].String() + nodes[1].String()
}

// The kubelet starts a new file when a log has 16 MiB, and from then on serves only the new
// file. A follower gets all lines, even if the connection breaks after the rotation.
func TestLogRotation(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	gate := newGate(t, ann.cluster)
	w := linkTo(t, strings.TrimPrefix(ann.url, "http://"))
	there := &user{Client: client.New(w.Address(), ann.name), server: ann.server, name: ann.name}
	t.Cleanup(there.Close)
	const lines = 1750
	id := ann.submit(t, "envs: {GATE: "+gate.url+"}\n"+
		yaml("run", fmt.Sprintf("line=$(head -c 10000 /dev/zero | tr '\\0' x); for i in $(seq 1 %d); do echo $i $line; done; wget -qO- $GATE; echo more; echo", lines)))
	follows := there.follow(t, id, client.LogOptions{})
	gate.await(t, "/", 1)
	eventually(t, "the log is rotated", func() (string, bool) {
		now := ann.log(t, id, client.LogOptions{NoFollow: true, Tail: new(lines + 1)})
		return fmt.Sprintf("%d bytes", len(now)), !strings.HasPrefix(now, "1 ")
	})
	follows.awaitText(t, fmt.Sprintf("\n%d xxx", lines))
	w.LeadTo(strings.TrimPrefix(ann.url, "http://"))
	gate.opens()
	var want strings.Builder
	line := strings.Repeat("x", 10000)
	for i := range lines {
		fmt.Fprintf(&want, "%d %s\n", i+1, line)
	}
	want.WriteString("more\n\n")
	if got := follows.rest(t); got != want.String() {
		t.Errorf("%d bytes came, want %d", len(got), want.Len())
	}
}
