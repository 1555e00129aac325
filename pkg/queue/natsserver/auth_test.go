package natsserver

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// users is an Authenticator for which the token of a user is the user's name.
type users []string

func (u users) Identify(_ context.Context, token string) (task.Identity, error) {
	if !slices.Contains(u, token) {
		return task.Identity{}, problem.New(problem.Unauthorized, "it is unknown")
	}
	return task.Identity{User: token}, nil
}

func TestSubscribersNeedAToken(t *testing.T) {
	t.Parallel()
	e := start(t, Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", Subscribers: users{"anns"}})
	url := "nats://" + e.Addr()
	stranger, err := nkeys.CreateUser()
	must.Succeed(t, err)
	public, err := stranger.PublicKey()
	must.Succeed(t, err)
	for name, option := range map[string]nats.Option{
		"nothing":           nats.Name("x"),
		"a wrong token":     nats.Token("wrong"),
		"a name alone":      nats.UserInfo("ann", ""),
		"a wrong password":  nats.UserInfo("ann", "ann"),
		"a key of its own":  nats.Nkey(public, stranger.Sign),
		"our key, unsigned": nats.Nkey(e.own.public, stranger.Sign),
	} {
		if err := connect(t, url, option); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("with %s: %v", name, err)
		}
	}
	if err := connect(t, url, nats.Token("anns")); err != nil {
		t.Errorf("with a token: %v", err)
	}
}
