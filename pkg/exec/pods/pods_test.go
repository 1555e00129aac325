package pods

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"k8s-cli/pkg/exec"
)

func TestASessionThatBreaksIsReturnedNotLogged(t *testing.T) {
	apiServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		upgrader := websocket.Upgrader{Subprotocols: []string{"v5.channel.k8s.io"}}
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close() // without a close frame
	}))
	defer apiServer.Close()
	var logged strings.Builder
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(&logged, nil)))
	defer klog.ClearLogger()
	p, err := New(&rest.Config{Host: apiServer.URL}, "default", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Exec(t.Context(), exec.Target{Pod: "train"}, exec.Command{Args: []string{"true"}}, exec.Streams{Stdout: io.Discard, Stderr: io.Discard})
	if err == nil || logged.Len() > 0 {
		t.Errorf("error %v, log %q", err, logged.String())
	}
}
