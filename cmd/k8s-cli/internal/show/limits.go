package show

import (
	"fmt"

	"k8s-cli/pkg/client/pack"
	"k8s-cli/pkg/task"
)

// Limits describes each limit of a user and its usage. The limits of a single task are not
// included.
func Limits(l task.UserLimits, u task.Usage) (all []string) {
	if l.Active > 0 {
		all = append(all, fmt.Sprintf("%d active tasks (%d in use)", l.Active, u.Active))
	}
	if l.Waiting > 0 {
		all = append(all, fmt.Sprintf("%d tasks without Jobs (%d in use)", l.Waiting, u.Waiting))
	}
	if l.SubmitRate > 0 {
		all = append(all, fmt.Sprintf("%g submissions per second, bursts of up to %d", l.SubmitRate, l.SubmitBurst))
	}
	if l.LogStreams > 0 {
		all = append(all, fmt.Sprintf("%d log streams (%d open)", l.LogStreams, u.LogStreams))
	}
	if l.UploadBytes > 0 {
		all = append(all, fmt.Sprintf("%s of uploads (%s in use)", task.SizeText(l.UploadBytes), pack.FormatSize(u.UploadBytes)))
	}
	return all
}
