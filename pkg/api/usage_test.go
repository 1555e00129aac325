package api

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		s.asked = nil
		a := s.send("GET", tt.path, "", "Authorization", "Bearer "+tt.token)
		if a.StatusCode != 200 {
			if !strings.Contains(a.body, tt.want) {
				t.Errorf("%s: %d %s", tt.path, a.StatusCode, a.body)
			}
			continue
		}
		if got := s.questions(); !cmp.Equal(got, []string{tt.want}) {
			t.Errorf("%s of %s: %q", tt.path, tt.token, got)
		}
	}
}
