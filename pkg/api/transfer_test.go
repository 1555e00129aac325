package api

import (
	"net/http"
	"strings"
	"testing"
)

// TestABatchInChunks checks that the server does not wait for more data after the end of a
// chunked body.
func TestABatchInChunks(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	body := `[{"run":"true"}]` + strings.Repeat(" ", 200<<10)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.address+"/tasks/batch", struct{ *strings.Reader }{strings.NewReader(body)})
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(userHeader, "ann")
	request.Header.Set("Content-Type", typeJSON)
	request.ContentLength = -1
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK || len(s.told()) != 1 {
		t.Errorf("%d, %d commands", answer.StatusCode, len(s.told()))
	}
}
