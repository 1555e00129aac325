package api

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s-cli/test/testkit/must"
)

// TestABatchInChunks checks that the server does not wait for more data after the end of a
// chunked body.
func TestABatchInChunks(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	body := `[{"run":"true"}]` + strings.Repeat(" ", 200<<10)
	answer, err := s.do("POST", "/tasks/batch", struct{ io.Reader }{strings.NewReader(body)})
	must.Succeed(t, err)
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK || len(s.told()) != 1 {
		t.Errorf("%d, %d commands", answer.StatusCode, len(s.told()))
	}
}
