package submit

import (
	"context"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/task"
)

const (
	lastLinesWait  = 2 * time.Second // for reading the last lines of one node
	tailBufferSize = 16 << 10        // bytes of output that are retained, at least
)

// addLastLines adds the last lines of the log to each node whose setup failed. For other nodes
// Kubernetes provides these lines in the termination message, but after a failed setup that
// message says that setup failed. Logs that cannot be read are omitted.
func (c *Controller) addLastLines(ctx context.Context, end *task.Ended) {
	left := task.MaxNodesWithLastLines
	for i := range end.Nodes {
		n := &end.Nodes[i]
		if n.Pod == "" || left == 0 || !strings.HasSuffix(n.Message, task.SetupFailedSuffix) {
			continue
		}
		left--
		if lines := task.LastLines(c.readLastLines(ctx, n.Pod)); lines != "" {
			n.Message += "\n" + lines
		}
	}
}

// addAttemptLastLines is addLastLines for attempts.
func (c *Controller) addAttemptLastLines(ctx context.Context, ended []task.Attempt) {
	left := task.MaxNodesWithLastLines
	for i := range ended {
		a := &ended[i]
		if a.LastLines != "" || left == 0 || !strings.HasSuffix(a.Message, task.SetupFailedSuffix) {
			continue
		}
		left--
		a.LastLines = task.LastLines(c.readLastLines(ctx, a.Pod))
	}
}

func (c *Controller) readLastLines(ctx context.Context, pod string) string {
	ctx, cancel := context.WithTimeout(ctx, lastLinesWait)
	defer cancel()
	body, err := c.pods.GetLogs(pod, &corev1.PodLogOptions{TailLines: new(int64(task.MaxLastLines))}).Stream(ctx)
	if err != nil {
		return ""
	}
	defer body.Close()
	var last tailBuffer
	if _, err := io.Copy(&last, body); err != nil {
		return ""
	}
	return string(last.text)
}

// A tailBuffer retains the end of what is written to it.
type tailBuffer struct{ text []byte }

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if cut := len(t.text) - tailBufferSize; cut > tailBufferSize {
		t.text = append([]byte(nil), t.text[cut:]...)
	}
	return len(p), nil
}
