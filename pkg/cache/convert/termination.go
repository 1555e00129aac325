package convert

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/cache/nodefit"
	"k8s-cli/pkg/task"
)

// This file explains how containers start and end where Kubernetes does not.

const (
	creating    = "ContainerCreating"
	outOfMemory = "OOMKilled"

	maxMessage = 1 << 10 // bytes of a message that are retained
)

// terminationMessage returns how a container ended: one line if there is more to say than the
// exit code, followed by the last lines that the container wrote.
func terminationMessage(p *corev1.Pod, t *corev1.ContainerStateTerminated) string {
	said := strings.TrimSpace(t.Message)
	line := ""
	switch {
	case said == task.SetupFailed:
		line, said = fmt.Sprintf("exit code %d%s", t.ExitCode, task.SetupFailedSuffix), ""
	case strings.HasPrefix(said, task.LauncherSays):
		return oneLine(strings.TrimPrefix(said, task.LauncherSays))
	case t.ContainerID == "" || t.Reason != "Error" && t.Reason != outOfMemory && t.Reason != "Completed":
		return oneLine(said) // the message is from the kubelet, not from the container
	}
	if t.Reason == outOfMemory {
		line = fmt.Sprintf("it used more than its memory limit%s (exit code %d)", limitOf(p), t.ExitCode)
	}
	lines := task.LastLines(said)
	if lines == "" || t.ExitCode == 0 {
		return line
	}
	if line == "" {
		line = fmt.Sprintf("exit code %d", t.ExitCode)
	}
	return line + "\n" + lines
}

func limitOf(p *corev1.Pod) string {
	for _, c := range p.Spec.Containers {
		if limit, ok := c.Resources.Limits[corev1.ResourceMemory]; ok {
			return " of " + nodefit.Bytes(limit)
		}
	}
	return ", the memory of the machine"
}

// startMessage returns the progress of the creation of a container.
func startMessage(pod *task.Pod, p *corev1.Pod) string {
	image := ""
	for _, c := range p.Spec.Containers {
		image = c.Image
	}
	for _, c := range p.Status.Conditions {
		if c.Type != corev1.PodReadyToStartContainers {
			continue
		}
		since := c.LastTransitionTime.UTC().Format(time.RFC3339)
		if pod.Prepared {
			return fmt.Sprintf("pulling image %s, or starting the container, since %s", image, since)
		}
		return fmt.Sprintf("mounting volumes and setting up the network on %s since %s", pod.Host, since)
	}
	return ""
}

// oneLine returns a message on one line, of at most maxMessage bytes.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) <= maxMessage {
		return text
	}
	cut := maxMessage
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}
