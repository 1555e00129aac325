package submit

import (
	"context"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/output"
)

const (
	outputWait   = 2 * time.Second // for reading the last lines of one node
	outputRetain = 16 << 10        // bytes of output that are retained, at least
)

// addOutputs adds the last lines of the log to each node whose setup failed. For other nodes
// Kubernetes provides these lines in the termination message, but after a failed setup that
// message says that setup failed. Logs that cannot be read are omitted.
func (c *Controller) addOutputs(ctx context.Context, end *task.Ended) {
	left := task.MaxOutputs
	for i := range end.Nodes {
		n := &end.Nodes[i]
		if n.Pod == "" || left == 0 || !strings.HasSuffix(n.Message, task.SetupFailedSuffix) {
			continue
		}
		left--
		if lines := output.LastLines(c.lastLines(ctx, n.Pod)); lines != "" {
			n.Message += "\n" + lines
		}
	}
}

// addAttemptOutputs is addOutputs for attempts.
func (c *Controller) addAttemptOutputs(ctx context.Context, ended []task.Attempt) {
	left := task.MaxOutputs
	for i := range ended {
		a := &ended[i]
		if a.Output != "" || left == 0 || !strings.HasSuffix(a.Message, task.SetupFailedSuffix) {
			continue
		}
		left--
		a.Output = output.LastLines(c.lastLines(ctx, a.Pod))
	}
}

func (c *Controller) lastLines(ctx context.Context, pod string) string {
	ctx, cancel := context.WithTimeout(ctx, outputWait)
	defer cancel()
	body, err := c.pods.GetLogs(pod, &corev1.PodLogOptions{TailLines: new(int64(output.MaxLines))}).Stream(ctx)
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
	if cut := len(t.text) - outputRetain; cut > outputRetain {
		t.text = append([]byte(nil), t.text[cut:]...)
	}
	return len(p), nil
}
