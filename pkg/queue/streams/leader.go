// Package streams is what the log, the events and the files have in common: what
// the leader of a stream answers and whether it leads, the settings of streams, and
// their shares of the disk.
package streams

import (
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// STREAM.INFO is no read index by itself: a deposed leader answers it, and so does
// any member of a group that has no leader, for as long as a partition lasts
// (nats-server 2.15, server/jetstream_api.go: jsStreamInfoRequest). An answer counts
// only if no other leader can have been elected before the question was sent.
const (
	// HeardWithin is how recently the leader must have heard of every replica. A
	// replica stands for election after 4 s without its leader at the earliest
	// (nats-server, server/raft.go: minElectionTimeout), and the leader sends
	// heartbeats every second. The rest of the 4 s is for answers of replicas that
	// the network delays. A quorum does not suffice: replicas vote for any
	// candidate of a higher term, whether they hear their leader or not.
	HeardWithin = 2 * time.Second

	// answerWithin is how long an answer of NATS may take, and seenWithin how long
	// before the question the leader must have answered another one. A leader whose
	// process was paused for so long that another one was elected takes replies from
	// before the pause for new ones; it fails one of the two.
	answerWithin = time.Second
	seenWithin   = 2 * time.Second
)

// A View is what an answer to STREAM.INFO says of the leader of the stream.
type View struct {
	name       string    // of its server; empty for none
	since      time.Time // of its election
	answered   time.Time // when the answer came
	Replicated bool      // the stream has more than one replica
}

// ViewOf returns what info, which came now, says of the leader.
func ViewOf(info *jetstream.StreamInfo, now time.Time) View {
	v := View{answered: now, Replicated: info.Config.Replicas > 1}
	if c := info.Cluster; c != nil {
		v.name = c.Leader
		if c.LeaderSince != nil {
			v.since = *c.LeaderSince
		}
	}
	return v
}

// HasLeader reports whether the stream had a leader when info was made.
func HasLeader(info *jetstream.StreamInfo) bool {
	return info.Config.Replicas <= 1 || info.Cluster != nil && info.Cluster.Leader != ""
}

// IsCurrent reports whether the state in info holds every message that was
// acknowledged before the question was sent at asked. before is what the last
// answer said of the leader, and now is when this one came.
//
// What it assumes is that no message between two replicas is delayed by more than
// minElectionTimeout - HeardWithin while the other direction between the two is cut,
// and that a leader that transfers its leadership stops to lead within the 10 ms
// that its successor waits before it stands for election.
func IsCurrent(info *jetstream.StreamInfo, before View, asked, now time.Time) bool {
	if info.Config.Replicas <= 1 {
		return true // one server has the stream
	}
	leader := ViewOf(info, now)
	switch {
	case leader.name == "", leader.name != before.name, !leader.since.Equal(before.since):
		return false
	case now.Sub(asked) > answerWithin, asked.Sub(before.answered) > seenWithin:
		return false
	case len(info.Cluster.Replicas) < info.Config.Replicas-1:
		return false
	}
	// A leader that has not heard of a replica in its term reports 0.
	return !slices.ContainsFunc(info.Cluster.Replicas, func(p *jetstream.PeerInfo) bool {
		return p.Name == leader.name || p.Active <= 0 || p.Active > HeardWithin
	})
}

// ErrUnconfirmed means that NATS answered what a stream holds, and that another
// leader may know of more.
var ErrUnconfirmed = errors.New("the end of the log is not confirmed: some replicas of the stream have lost their leader")
