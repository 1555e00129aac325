package features

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/client"
	"k8s-cli/test/testkit/must"
)

// A fakeLog is the file that is the log of every pod of a cluster with fake nodes.
type fakeLog struct {
	path    string
	file    *os.File
	written strings.Builder
}

// needFakes skips the test on a cluster with real nodes.
func (c *cluster) needFakes(t *testing.T) *fakeLog {
	t.Helper()
	nodes, err := c.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: "type=kwok"})
	must.Succeed(t, err)
	if len(nodes.Items) == 0 {
		t.Skip("the nodes of this cluster are real; make test runs this one on fake nodes")
	}
	l := &fakeLog{path: filepath.Join(filepath.Dir(os.Getenv(envKubeconfig)), "log", "fake-pods.log")}
	l.rotate(t)
	t.Cleanup(func() {
		_ = l.file.Close()
		_ = os.Remove(l.path)
	})
	return l
}

// rotate replaces the file by a new one.
func (l *fakeLog) rotate(t *testing.T) {
	t.Helper()
	if l.file != nil {
		_ = l.file.Close()
		must.Succeed(t, os.Remove(l.path))
	}
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	must.Succeed(t, err)
	l.file = file
}

// write appends lines in the format of container runtimes.
func (l *fakeLog) write(t *testing.T, n int) {
	t.Helper()
	var text strings.Builder
	for range n {
		line := fmt.Sprintf("%d %s\r%x", l.written.Len(), strings.Repeat("x", l.written.Len()%200), l.written.Len()*7919)
		fmt.Fprintf(&text, "%s stdout F %s\n", time.Now().UTC().Format("2006-01-02T15:04:05.000000000Z07:00"), line)
		l.written.WriteString(line + "\n")
	}
	if _, err := l.file.WriteString(text.String()); err != nil {
		t.Fatal(err)
	}
}

// Hundreds of clients follow dozens of pods at once, while connections break and logs are
// rotated. The pods are fake. Everything between their kubelet and the clients is real.
func TestLogFollowersOfFakePods(t *testing.T) {
	c := join(t)
	log := c.needFakes(t)
	const tasks, followers = 30, 10
	far := linkToAPI(t)
	s := c.serve(t, "--kubeconfig", far.kubeconfig(t), "--allowed-annotations", "pod-end.k8s-cli.local/")
	near := linkTo(t, strings.TrimPrefix(s.url, "http://"))
	there := &user{Client: client.New("http://"+near.Address(), "ann"), server: s, name: "ann"}
	t.Cleanup(there.Close)

	var readers []*reader
	for range tasks {
		id := there.submit(t, endsAfter("1h"))
		for range followers {
			readers = append(readers, there.follow(t, id, client.LogOptions{}))
		}
	}
	all := func() {
		t.Helper()
		for _, r := range readers {
			r.awaitLength(t, log.written.Len())
		}
	}
	log.write(t, 500)
	all()
	near.Break()
	log.write(t, 500)
	all()
	log.rotate(t)
	log.write(t, 500)
	all()
	far.Break()
	log.write(t, 500)
	all()
	streams := s.openLogs(t, "")
	t.Logf("%d followers of %d tasks: %d streams at the API server, %d bytes each", tasks*followers, tasks, streams, log.written.Len())
	if streams > tasks+tasks*followers/10 { // a follower that falls behind reads alone for a while
		t.Errorf("%d followers of %d tasks have %d streams at the API server", tasks*followers, tasks, streams)
	}
	want := sha256.Sum256([]byte(log.written.String()))
	for i, r := range readers {
		if text, _ := r.now(); sha256.Sum256([]byte(text)) != want {
			t.Errorf("follower %d got %d bytes, which are not the %d that were written", i, len(text), log.written.Len())
		}
	}
}

// awaitLength waits until this many bytes have arrived.
func (r *reader) awaitLength(t *testing.T, bytes int) {
	t.Helper()
	r.awaitWhere(t, fmt.Sprintf("%d bytes", bytes), func(text string) bool { return len(text) >= bytes })
}
