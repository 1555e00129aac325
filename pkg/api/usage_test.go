package api

import (
	"testing"
	"time"

	"k8s-cli/pkg/task"
)

func TestUsageOfTheCaller(t *testing.T) {
	t.Parallel()
	f := &fake{}
	for _, user := range []string{"ann", "bob"} {
		f.fold(t, grouped(user, user+"1", "g"), submitted(user, user+"2"), task.Command{StopAll: &task.StopAll{User: user}})
	}
	s := serveWith(t, f, withAuthenticator)
	since := "since=" + time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	for _, tt := range []struct{ path, token, want string }{
		{"/usage?" + since, "bobs", `"tasks":2,`},
		{"/usage?" + since + "&by=user,group&group=g", "bobs", `"rows":[{"user":"bob","group":"g","tasks":1,`},
		{"/usage?" + since + "&all_users=true", "roots", `"tasks":4,`},
		{"/usage?all_users=true", "bobs", "all_users: only administrators"},
		{"/usage?since=yesterday", "bobs", "since: "},
		{"/usage?by=week", "bobs", "by: "},
		{"/usage?group=", "bobs", "group: "},
	} {
		s.wantAnswer(tt.path, tt.token, tt.want)
	}
}
