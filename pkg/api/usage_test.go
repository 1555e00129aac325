package api

import (
	"testing"

	"k8s-cli/pkg/task"
)

func TestWhoseUsageIsReported(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{answer: task.Answer{Body: []byte(`{}`), ETag: `W/"1"`}}, withAuthenticator)
	for _, tt := range []struct{ path, token, want string }{
		{"/usage?since=2026-11-01", "bobs", `usage bob false "" 2026-11-01 [day]`},
		{"/usage?since=2026-11-01&by=user,group&group=g", "bobs", `usage bob false "g" 2026-11-01 [user group]`},
		{"/usage?since=2026-11-01&all_users=true", "roots", `usage root true "" 2026-11-01 [day]`},
		{"/usage?all_users=true", "bobs", "all_users: only administrators"},
		{"/usage?since=yesterday", "bobs", "since: "},
		{"/usage?by=week", "bobs", "by: "},
		{"/usage?group=", "bobs", "group: "},
	} {
		s.wantQuestion(tt.path, tt.token, tt.want)
	}
}
