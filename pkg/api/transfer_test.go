package api

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

// TestABatchInChunks checks that the server does not wait for more data after the end of a
// chunked body.
func TestABatchInChunks(t *testing.T) {
	s := serve(t, &fake{})
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	body := `[{"run":"true"}]` + strings.Repeat(" ", 200<<10)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.address+"/tasks/batch", struct{ *strings.Reader }{strings.NewReader(body)})
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
