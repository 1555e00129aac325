// Package streams contains what the log, the events and the files share. It sends requests to
// the leader of a stream, reports whether the leader still leads, and has the settings of
// streams and their portions of the disk.
package streams

import (
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// STREAM.INFO alone is no read index. A deposed leader answers it, and so does any member of a
// group without a leader, for as long as a partition lasts (nats-server 2.15,
// server/jetstream_api.go: jsStreamInfoRequest). An answer counts only if NATS cannot have
// elected another leader before the request was sent.
const (
	// MaxReplicaSilence is how long the leader may not have heard of a replica. A replica
	// starts an election after at least 4 s without its leader (nats-server, server/raft.go:
	// minElectionTimeout), and the leader sends heartbeats every second. The rest of the 4 s
	// is for answers of replicas that the network delays. A quorum of replicas does not
	// suffice: replicas vote for any candidate of a higher term, even if they still hear their
	// leader.
	MaxReplicaSilence = 2 * time.Second

	// answerWithin is how long an answer of NATS may take. seenWithin is how long before the
	// request the leader may have given its previous answer. If the process of a leader was
	// paused until another leader was elected, it takes replies from before the pause for new
	// ones, but fails one of the two limits.
	answerWithin = time.Second
	seenWithin   = 2 * time.Second
)

// A LeaderState is what an answer to STREAM.INFO says about the leader of the stream.
type LeaderState struct {
	name       string    // of its server; empty for none
	since      time.Time // of its election
	answered   time.Time // when the answer came
	Replicated bool      // the stream has more than one replica
}

// LeaderStateOf returns what info says about the leader; now is when info arrived.
func LeaderStateOf(info *jetstream.StreamInfo, now time.Time) LeaderState {
	l := LeaderState{answered: now, Replicated: info.Config.Replicas > 1}
	if c := info.Cluster; c != nil {
		l.name = c.Leader
		if c.LeaderSince != nil {
			l.since = *c.LeaderSince
		}
	}
	return l
}

// HasLeader reports whether the stream had a leader when info was made.
func HasLeader(info *jetstream.StreamInfo) bool {
	return info.Config.Replicas <= 1 || info.Cluster != nil && info.Cluster.Leader != ""
}

// IsCurrent reports whether the state in info contains every message that was acknowledged
// before info was requested at the time asked. before is the leader in the previous answer,
// and now is when info arrived.
//
// IsCurrent assumes that no message between two replicas is delayed by more than
// minElectionTimeout minus MaxReplicaSilence while the opposite direction is cut. IsCurrent also
// assumes that a leader that transfers its leadership stops leading within the 10 ms that its
// successor waits before it starts an election.
func IsCurrent(info *jetstream.StreamInfo, before LeaderState, asked, now time.Time) bool {
	if info.Config.Replicas <= 1 {
		return true // one server has the stream
	}
	leader := LeaderStateOf(info, now)
	switch {
	case leader.name == "", leader.name != before.name, !leader.since.Equal(before.since):
		return false
	case now.Sub(asked) > answerWithin, asked.Sub(before.answered) > seenWithin:
		return false
	case len(info.Cluster.Replicas) < info.Config.Replicas-1:
		return false
	}
	// A leader reports 0 for a replica that it has not heard of in its term.
	return !slices.ContainsFunc(info.Cluster.Replicas, func(p *jetstream.PeerInfo) bool {
		return p.Name == leader.name || p.Active <= 0 || p.Active > MaxReplicaSilence
	})
}

// ErrUnconfirmed means that NATS returned the state of a stream, but that another leader may
// have more messages.
var ErrUnconfirmed = errors.New("the end of the command log is not confirmed: some replicas of the stream have lost their leader")
