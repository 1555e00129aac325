package task

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Reasons of k8s-cli itself; all other reasons come from Kubernetes.
const (
	ReasonVolume   = "VolumeNotFound"     // a volume that the task names does not exist yet
	ReasonUnshared = "VolumeNotShareable" // the nodes of the task cannot all mount the volume
	ReasonSibling  = "SiblingFailed"      // another node failed first, so this node was ended
	ReasonDeleted  = "JobDeleted"         // somebody other than k8s-cli deleted a Job
	ReasonInternal = "InternalError"      // a fault of the controller

	ReasonFetching   = "FetchingFiles"   // a pod fetches the files of its task
	ReasonNotFetched = "FilesNotFetched" // a pod could not fetch the files of its task

	ReasonCopying   = "FetchingBuckets"   // a pod copies the buckets of its task
	ReasonNotCopied = "BucketsNotFetched" // a pod could not copy the buckets of its task
	ReasonNotSent   = "BucketsNotStored"  // a node could not send all files to their buckets
)

// exitKilled is the exit code of a node that was ended because another node failed, as in
// SkyPilot: 128 + SIGKILL.
const exitKilled = 137

// CurrentPhase returns the phase of the task: the later of the phases that the log and the
// cluster show. Only the log decides that a task is over. Therefore a final phase comes
// with the final nodes, on every pod, and no stop changes it.
func (v View) CurrentPhase() Phase {
	if v.Record == nil {
		return Pending
	}
	if v.Phase != Pending || v.UIDs == nil {
		return v.Phase
	}
	for rank := range v.Jobs {
		if v.node(rank).Phase != Pending {
			return Running
		}
	}
	return Pending
}

// NodeList returns the nodes by rank: as recorded at the end of the task, or as the cluster
// shows them now.
func (v View) NodeList() []Node {
	nodes := make([]Node, v.NumNodes())
	names := v.JobNames()
	for rank := range nodes {
		recorded := v.Phase == Stopped && v.Pods[rank] == nil || v.Phase.Over() && v.Phase != Stopped
		if recorded && rank < len(v.Nodes) {
			nodes[rank] = v.Nodes[rank]
		} else {
			nodes[rank] = v.node(rank)
		}
		nodes[rank].Job = names[rank]
		if v.Phase.Over() {
			nodes[rank] = nodes[rank].cut(v.Phase)
		}
	}
	return nodes
}

// cut returns n with the phase of its task, if the task was over before the node. For a
// stopped task, cut removes the reason for which the node waited.
func (n Node) cut(p Phase) Node {
	if n.Phase.Over() {
		return n
	}
	if n.Phase = p; p == Stopped {
		n.Reason, n.Message = "", ""
	}
	return n
}

// node returns the state of one node in the cluster.
func (v View) node(rank int) Node {
	n := Node{Rank: rank, Phase: Pending}
	pod, job := v.Pods[rank], v.Jobs[rank]
	if pod != nil && pod.Phase != Pending {
		n.Phase = Running // until its Job has ended
	}
	if pod == nil && rank < len(v.Former) {
		pod = v.Former[rank] // this pod may have ended just before its deletion
	}
	if pod != nil {
		n.Pod, n.Host, n.ExitCode = pod.Name, pod.Host, pod.ExitCode
		n.Reason, n.Message = pod.Reason, pod.Message
		n.StartedAt, n.FinishedAt = moment(pod.StartedAt), moment(pod.FinishedAt)
	}
	if job == nil || !job.Phase.Over() {
		if rank < len(v.Notes) && v.Notes[rank].Reason != "" {
			n.Reason, n.Message = v.Notes[rank].Reason, v.Notes[rank].Message
		}
		return n
	}
	n.Phase = job.Phase
	if n.FinishedAt == nil {
		n.FinishedAt = moment(job.FinishedAt)
	}
	switch {
	case n.Phase == Completed:
		n.Reason, n.Message = "", ""
	// The reason of a waiting pod, or of a pod that a deadline ended, is not why the Job
	// failed.
	case n.Reason == "", pod.Phase == Pending, job.Reason == ReasonDeadline:
		n.Reason, n.Message = job.Reason, job.Message
	}
	return n
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Explain returns why the volume is in its phase, as far as known.
func (v VolumeView) Explain() Note {
	n := v.Note
	if v.Reason != "" {
		n = Note{Reason: v.Reason, Message: v.Message}
	}
	n.Hint = HintFor(n.Reason, n.Message, nil)
	return n
}

// Changed returns when the task last changed, as far as known.
func (v View) Changed() time.Time {
	last := v.UpdatedAt
	if v.Phase.Over() {
		return last
	}
	later := func(t time.Time) {
		if t.After(last) {
			last = t
		}
	}
	for _, pod := range v.Pods {
		if pod != nil {
			later(pod.StartedAt)
			later(pod.FinishedAt)
		}
	}
	for _, job := range v.Jobs {
		if job != nil {
			later(job.FinishedAt)
		}
	}
	return last
}

// Explain returns why the task is pending or failed, why the server stopped the task, or what one
// of its nodes waits for while the task runs. Otherwise Explain returns the zero Note.
func (v View) Explain(nodes []Node) Note {
	phase := v.CurrentPhase()
	switch {
	case phase == Completed && v.Reason != ReasonPrimariesDone, phase == Stopped && v.Reason == "":
		return Note{}
	case v.Reason != "":
		return Note{v.Reason, v.Message, v.hint(nodes)}
	case len(v.Missing) > 0:
		message := fmt.Sprintf("waiting for volume %s: you have no volume of that name, and there is no claim of that name that you may use", v.Missing[0])
		return Note{ReasonVolume, message, HintFor(ReasonVolume, message, nil)}
	}
	runs := slices.ContainsFunc(nodes, func(n Node) bool { return n.Phase == Running })
	i := slices.IndexFunc(nodes, func(n Node) bool {
		switch {
		case n.Reason == "":
			return false
		case phase == Failed:
			return n.Phase == Failed
		}
		return !runs && n.Phase == Pending || n.Phase == Running && v.noted(n)
	})
	if i < 0 {
		return Note{}
	}
	return Note{nodes[i].Reason, nodes[i].explain(len(nodes)), v.NodeHint(nodes[i])}
}

// hint returns what to do about the reason in the log.
func (v View) hint(nodes []Node) string {
	i := slices.IndexFunc(nodes, func(n Node) bool { return n.Reason == v.Reason && n.explain(len(nodes)) == v.Message })
	if i < 0 {
		return HintFor(v.Reason, v.Message, nil)
	}
	return v.NodeHint(nodes[i])
}

// NodeHint returns one sentence that says what to do about a node's reason, or "".
func (v View) NodeHint(n Node) string {
	if v.noted(n) && v.Notes[n.Rank].Hint != "" {
		return v.Notes[n.Rank].Hint
	}
	return HintFor(n.Reason, n.Message, n.ExitCode)
}

// noted reports whether the reason of a node comes from its note.
func (v View) noted(n Node) bool {
	return !n.Phase.Over() && n.Rank < len(v.Notes) && n.Reason != "" && v.Notes[n.Rank].Reason == n.Reason
}

// Split returns the node with the last lines of its output moved from Message to LastLines.
func (n Node) Split() Node {
	n.Message, n.LastLines, _ = strings.Cut(n.Message, "\n")
	return n
}

// explain returns what happened to a node, as a sentence.
func (n Node) explain(nodes int) string {
	text := n.Split().Message
	if n.ExitCode != nil && *n.ExitCode != 0 && text == "" {
		text = fmt.Sprintf("exit code %d", *n.ExitCode)
	}
	if nodes > 1 && text != "" {
		text = fmt.Sprintf("node %d: %s", n.Rank, text)
	}
	return text
}

// Outcome returns how an applied task has ended, or nil if the task has not ended. A task
// ends when every node has succeeded or when one has failed, which ends the others. lost
// contains the ranks whose Jobs somebody other than k8s-cli deleted.
func (v View) Outcome(lost []int) *Ended {
	end := &Ended{ID: v.Submit.ID, Phase: Completed, Nodes: v.NodeList()}
	for rank := range end.Nodes {
		n := &end.Nodes[rank]
		if slices.Contains(lost, rank) {
			n.Phase, n.Reason, n.Message = Failed, ReasonDeleted, "its Job was deleted from the cluster, not by 'k8s-cli jobs stop'"
		}
		switch {
		case n.Phase == Failed:
			end.Phase = Failed
		case n.Phase != Completed && end.Phase == Completed:
			end.Phase = Running
		}
	}
	if end.Phase == Running {
		return nil
	}
	clipLastLines(end.Nodes)
	if end.Phase == Failed {
		i := slices.IndexFunc(end.Nodes, func(n Node) bool { return n.Phase == Failed })
		end.Reason, end.Message = end.Nodes[i].Reason, end.Nodes[i].explain(len(end.Nodes))
		markSiblings(end.Nodes, i)
	}
	return end
}

// MaxNodesWithLastLines is how many nodes of a task store their last lines in the log, because the
// size of an entry is limited.
const MaxNodesWithLastLines = 8

// clipLastLines drops the last lines of all nodes except the first MaxNodesWithLastLines nodes with
// output.
func clipLastLines(nodes []Node) {
	kept := 0
	for i := range nodes {
		n := nodes[i].Split()
		if n.LastLines == "" {
			continue
		}
		if kept++; kept > MaxNodesWithLastLines {
			nodes[i].Message = n.Message
		}
	}
}

// markSiblings marks the nodes that had not ended when another node failed.
func markSiblings(nodes []Node, failed int) {
	for i := range nodes {
		if n := &nodes[i]; !n.Phase.Over() {
			n.Phase, n.Reason = Failed, ReasonSibling
			n.Message = fmt.Sprintf("ended because node %d failed", failed)
			n.ExitCode = new(exitKilled)
		}
	}
}
