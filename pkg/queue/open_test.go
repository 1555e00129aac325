package queue

import (
	"net/url"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/test/testkit/must"
)

// A stream that cannot be read may belong to others, so Open changes nothing.
func TestUnreadableStreamIsLeftUnchanged(t *testing.T) {
	t.Parallel()
	r := natstest.Serve(t)
	r.Down()
	r.Options.Users = []*server.User{
		{Username: "admin", Password: "admin"},
		{Username: "us", Password: "us", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Deny: []string{"$JS.API.STREAM.INFO." + subject.LogStream}},
		}},
	}
	r.Up(t)
	as := func(user string) *nats.Conn {
		t.Helper()
		at, err := url.Parse(r.URL)
		must.Succeed(t, err)
		at.User = url.UserPassword(user, user)
		nc, err := natsconn.Remote{URL: at.String()}.Dial()
		must.Succeed(t, err)
		t.Cleanup(nc.Close)
		return nc
	}
	admin := natstest.JetStream(t, as("admin"))
	theirs := jetstream.StreamConfig{Name: subject.LogStream, Subjects: []string{"app.>"}}
	if _, err := admin.CreateStream(natstest.Context(t), theirs); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), as("us"), Config{}); err == nil {
		t.Error("a stream that cannot be looked at was opened")
	}
	s, err := admin.Stream(natstest.Context(t), subject.LogStream)
	must.Succeed(t, err)
	if got := s.CachedInfo().Config.Subjects; len(got) != 1 || got[0] != "app.>" {
		t.Errorf("its subjects are %q now", got)
	}
}
