package features

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// Ten clients follow each of twenty tasks, while the connections of the clients and of the
// server to the API server break. Every follower gets a log with the hash that the pod
// computed, and the followers of a pod share a stream.
func TestManyLogFollowers(t *testing.T) {
	t.Parallel()
	const tasks, followers = 20, 10
	c := join(t)
	far, gate := linkToAPI(t), newGate(t, c)
	s := c.serve(t, "--kubeconfig", far.kubeconfig(t))
	near := linkTo(t, strings.TrimPrefix(s.url, "http://"))
	there := &user{Client: client.New("http://"+near.Address(), "ann"), server: s, name: "ann"}
	t.Cleanup(there.Close)

	script := "i=0; while [ $i -lt 1200 ]; do i=$((i+1)); echo $i $RANDOM; [ $((i % 100)) = 0 ] && sleep 0.5; done | tee /tmp/all; printf '\\r99%%\\n\\n' | tee -a /tmp/all; wget -qO- $GATE/$(sha256sum /tmp/all | cut -c1-64)"
	ids, readers := make([]string, tasks), make([][]*reader, tasks)
	for i := range ids {
		ids[i] = s.as(t, "ann").submit(t, "resources: {cpus: 50m, memory: 64Mi}\nenvs: {GATE: "+gate.url+"}\n"+yaml("run", script))
		for range followers {
			readers[i] = append(readers[i], there.follow(t, ids[i], client.LogOptions{}))
		}
	}
	for _, line := range []int{100, 500, 900} {
		for i := range readers {
			readers[i][0].awaitText(t, fmt.Sprintf("\n%d ", line))
		}
		far.Break()
		near.Break()
	}
	for i := range readers {
		for _, r := range readers[i] {
			r.awaitText(t, "\r99%\n\n")
		}
	}
	streams := s.openLogs(t, "")
	t.Logf("%d followers of %d tasks: %d streams at the API server", tasks*followers, tasks, streams)
	if streams > tasks+tasks*followers/10 { // a follower that falls behind reads alone for a while
		t.Errorf("%d followers of %d tasks have %d streams at the API server", tasks*followers, tasks, streams)
	}
	gate.opens()
	for i, id := range ids {
		for n, r := range readers[i] {
			got := fmt.Sprintf("%x", sha256.Sum256([]byte(r.rest(t))))
			if gate.count("/"+got) == 0 {
				t.Errorf("follower %d of task %s got something else than its pod wrote", n, id)
			}
		}
		if s := there.task(t, id); s.Phase != task.Completed {
			t.Errorf("the task is %s", sketch(s))
		}
	}
}
