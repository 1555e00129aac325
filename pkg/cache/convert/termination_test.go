package convert

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
)

func TestHowAContainerEnded(t *testing.T) {
	p := &corev1.Pod{}
	p.Spec.Containers = []corev1.Container{{}}
	p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("16Gi")}
	long := strings.Repeat("ä", 2000)
	for _, tt := range []struct {
		name string
		t    corev1.ContainerStateTerminated
		want string
	}{
		{"without a word", corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", ContainerID: "c"}, ""},
		{"with output", corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", ContainerID: "c", Message: "one\ntwo\n"}, "exit code 3\none\ntwo"},
		{
			"with much output",
			corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", ContainerID: "c", Message: strings.Repeat("x\n", 50)},
			"exit code 3\n" + strings.TrimSuffix(strings.Repeat("x\n", 10), "\n"),
		},
		{
			"with a long line",
			corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", ContainerID: "c", Message: long},
			"exit code 3\n" + strings.Repeat("ä", 512),
		},
		{"before setup", corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", ContainerID: "c", Message: "k8s-cli: gave up waiting\n"}, "gave up waiting"},
		{"in setup", corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", ContainerID: "c", Message: task.SetupFailed + "\n"}, "exit code 3 of setup, so run did not start"},
		{"well, with a last word", corev1.ContainerStateTerminated{Reason: "Completed", ContainerID: "c", Message: "bye"}, ""},
		{"for want of memory", corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", ContainerID: "c"}, "it used more than its memory limit of 16 GiB (exit code 137)"},
		{
			"for want of memory, with output",
			corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", ContainerID: "c", Message: "x"},
			"it used more than its memory limit of 16 GiB (exit code 137)\nx",
		},
		{"before it began", corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", Message: "exec: \"/bin/sh\":\n no such file"}, `exec: "/bin/sh": no such file`},
	} {
		if got := terminationMessage(p, &tt.t); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestHowFarAContainerIs(t *testing.T) {
	for _, tt := range []struct {
		ready corev1.ConditionStatus
		want  string
	}{
		{"False", "mounting volumes and setting up the network on house-1 since 2025-10-05T12:00:05Z"},
		{"True", "pulling image python, or starting the container, since 2025-10-05T12:00:05Z"},
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "train-a-x", OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: "train-a", UID: "job", Controller: new(true)}}}}
		p.Labels = labels()
		p.Spec.NodeName, p.Spec.Containers = "house-1", []corev1.Container{{Image: "python"}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReadyToStartContainers, Status: tt.ready, LastTransitionTime: at(5)}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: creating}}}}
		got := podOf(p)
		if got.Reason != creating || got.Message != tt.want || got.Prepared != (tt.ready == "True") {
			t.Errorf("%+v, want %q", got, tt.want)
		}
	}
}

func TestAPodThatWasPutOutOfTheWay(t *testing.T) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "train-a-x", OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: "train-a", UID: "job", Controller: new(true)}}}}
	p.Labels = labels()
	p.Status.Phase = corev1.PodFailed
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: "True", Reason: "PreemptionByScheduler", Message: "preempting\nto accommodate"}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 143, Reason: "Error", ContainerID: "c"}}}}
	if got := podOf(p); got.Reason != "PreemptionByScheduler" || got.Message != "preempting to accommodate" || *got.ExitCode != 143 {
		t.Errorf("%+v", got)
	}
	p.Status.Reason, p.Status.Message = "Evicted", "the node was low on memory"
	if got := podOf(p); got.Reason != "Evicted" || got.Message != "the node was low on memory" {
		t.Errorf("what the machine says of it: %+v", got)
	}
}
