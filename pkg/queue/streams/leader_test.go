package streams

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func TestAnswersOfTheLeaderAreCurrent(t *testing.T) {
	t.Parallel()
	asked := time.Now()
	since := asked.Add(-time.Hour)
	before := LeaderState{name: "n2", since: since, answered: asked.Add(-time.Second), Replicated: true}
	heard := func(n0, n1 time.Duration) []*jetstream.PeerInfo {
		return []*jetstream.PeerInfo{{Name: "n0", Active: n0}, {Name: "n1", Active: n1}}
	}
	for _, tt := range []struct {
		name     string
		replicas int
		leader   string
		since    time.Time
		peers    []*jetstream.PeerInfo
		took     time.Duration
		before   LeaderState
		want     bool
	}{
		{"the leader hears all", 3, "n2", since, heard(900*time.Millisecond, time.Millisecond), time.Millisecond, before, true},
		{"one server has the stream", 1, "n2", since, nil, time.Hour, LeaderState{}, true},
		{"the group has no leader", 3, "", since, heard(time.Millisecond, time.Millisecond), 0, before, false},
		{"one replica was not heard for long", 3, "n2", since, heard(MaxReplicaSilence+1, time.Millisecond), 0, before, false},
		{"one replica was never heard", 3, "n2", since, heard(0, time.Millisecond), 0, before, false},
		{"a replica is missing", 3, "n2", since, heard(time.Millisecond, 0)[:1], 0, before, false},
		{"a follower answers, not the leader", 3, "n1", since, heard(time.Millisecond, time.Millisecond), 0, LeaderState{name: "n1", since: since, answered: asked}, false},
		{"another leader answered before", 3, "n2", since, heard(time.Millisecond, time.Millisecond), 0, LeaderState{name: "n1", since: since, answered: asked}, false},
		{"the leader was elected again", 3, "n2", asked, heard(time.Millisecond, time.Millisecond), 0, before, false},
		{"nobody answered before", 3, "n2", since, heard(time.Millisecond, time.Millisecond), 0, LeaderState{}, false},
		{"the leader was paused before it was asked", 3, "n2", since, heard(time.Millisecond, time.Millisecond), 0, LeaderState{name: "n2", since: since, answered: asked.Add(-seenWithin - 1)}, false},
		{"the leader was paused after it was asked", 3, "n2", since, heard(time.Millisecond, time.Millisecond), answerWithin + 1, before, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			info := &jetstream.StreamInfo{
				Config:  jetstream.StreamConfig{Replicas: tt.replicas},
				Cluster: &jetstream.ClusterInfo{Leader: tt.leader, LeaderSince: &tt.since, Replicas: tt.peers},
			}
			if got := IsCurrent(info, tt.before, asked, asked.Add(tt.took)); got != tt.want {
				t.Errorf("current: %t", got)
			}
		})
	}
}
