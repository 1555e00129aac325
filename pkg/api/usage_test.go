package api

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/usage"
)

func TestWhoseUsageIsReported(t *testing.T) {
	today := usage.DayOf(time.Now()).String()
	for _, tt := range []struct{ path, token, want string }{
		{"/usage?since=1d", "bobs", `usage bob false "" ` + today + " [day]"},
		{"/usage?since=2026-11-01&by=user,group&group=g", "bobs", `usage bob false "g" 2026-11-01 [user group]`},
		{"/usage?since=1d&all_users=true", "roots", `usage root true "" ` + today + " [day]"},
		{"/usage?all_users=true", "bobs", "all_users: only administrators"},
		{"/usage?since=yesterday", "bobs", "since: "},
		{"/usage?by=week", "bobs", "by: "},
		{"/usage?group=", "bobs", "group: "},
	} {
		s := serveWith(t, &fake{answer: task.Answer{Body: []byte(`{}`), ETag: `W/"1"`}}, withAuthenticator)
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
