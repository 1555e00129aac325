package streams

import (
	"context"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/subject"
)

// objectStore is the prefix of the stream of an object store.
const objectStore = "OBJ_"

// SnapshotBucket is the object store of the snapshots.
const SnapshotBucket = "SNAPSHOTS"

// All lists the streams of the server, in the order in which a backup copies them. A copy of the
// log is newer than the copies of the streams before it: the log then contains the entries whose
// events are missing, and continues where the snapshots end. The copies of the streams after the
// log contain what the log refers to.
var All = []string{
	"NOTIFICATIONS", // how far notifications were delivered
	subject.EventStream,
	objectStore + SnapshotBucket,
	subject.LogStream,
	objectStore + "SUBMISSIONS", // submissions that are no longer in the log
	objectStore + "LOGS",        // ends of the logs of tasks
	objectStore + "UPLOADS",     // files of users
	objectStore + "OUTPUTS",     // outputs of tasks
}

// Create creates a stream that All names. No other code creates streams, so that a backup
// contains every stream.
func Create(ctx context.Context, js jetstream.JetStream, c jetstream.StreamConfig) (jetstream.Stream, error) {
	if err := listed(c.Name); err != nil {
		return nil, err
	}
	return js.CreateStream(ctx, c)
}

// CreateObjectStore creates an object store whose stream All names.
func CreateObjectStore(ctx context.Context, js jetstream.JetStream, c jetstream.ObjectStoreConfig) (jetstream.ObjectStore, error) {
	if err := listed(objectStore + c.Bucket); err != nil {
		return nil, err
	}
	return js.CreateObjectStore(ctx, c)
}

func listed(stream string) error {
	if !slices.Contains(All, stream) {
		return fmt.Errorf("stream %s is not in streams.All, so no backup would contain it", stream)
	}
	return nil
}
