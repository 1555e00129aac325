package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"regexp"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

const (
	filesHeadTimeout = 10 * time.Second // to read the header of a request
	filesIdleTimeout = 2 * time.Minute  // of a connection between requests
	filesStall       = time.Minute      // for the client to receive one part of a response
	filesShutdown    = 5 * time.Second  // to finish active requests
	filesHeadLimit   = 16 << 10         // bytes of the header of a request
	filesBuffer      = 64 << 10         // bytes per read from the API server
)

// filePath matches the path from which the init container of a pod downloads one file of
// a task, and outputPath the URL to which a node of a task sends its outputs. The pods of earlier
// releases do not name themselves.
var (
	filePath   = regexp.MustCompile(`^/tasks/[a-z0-9-]{1,63}/files/[0-9a-f]{64}$`)
	outputPath = regexp.MustCompile(`^/tasks/[a-z0-9-]{1,63}/outputs/[0-9]{1,5}(\?pod=[0-9a-f-]{1,64})?([?&](missing=[0-9,]{1,64}|failed=[a-z]{1,8}))?$`)
)

// A dialer opens a connection to the server of this process.
type dialer func(context.Context) (net.Conn, error)

// serveFiles serves the files of tasks to their pods on listener until ctx ends, and receives
// the outputs of tasks. After that, serveFiles finishes the active requests. It forwards
// requests for files and outputs to the server that dial connects to. Every other request
// gets 404, so that a network policy can restrict pods to their files.
func serveFiles(ctx context.Context, listener net.Listener, dial dialer, logger *slog.Logger) error {
	s := &http.Server{
		Handler:                      filesHandler(dial, logger),
		ReadHeaderTimeout:            filesHeadTimeout,
		IdleTimeout:                  filesIdleTimeout,
		MaxHeaderBytes:               filesHeadLimit,
		ErrorLog:                     slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		DisableGeneralOptionsHandler: true,
		TLSNextProto:                 map[string]func(*http.Server, *tls.Conn, http.Handler){}, // HTTP/1.1 only
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), filesShutdown)
		defer cancel()
		if s.Shutdown(last) != nil {
			_ = s.Close()
		}
	})
	err := s.Serve(listener)
	if stop() {
		return fmt.Errorf("serve files of tasks on %s: %w", listener.Addr(), err)
	}
	<-stopped
	return ctx.Err()
}

func filesHandler(dial dialer, logger *slog.Logger) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", cmp.Or(r.In.Host, "files")
			if r.In.Method != http.MethodPut {
				r.Out.Body, r.Out.ContentLength, r.Out.TransferEncoding = nil, 0, nil
			}
		},
		Transport: &http.Transport{
			DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
			DisableKeepAlives:  true,
			DisableCompression: true,
			ReadBufferSize:     filesBuffer,
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			logger.Debug("proxying files of a task failed", "err", err)
			refuse(w, http.StatusServiceUnavailable, "the server is starting or stopping; try again")
		},
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		switch download := r.Method == http.MethodGet || r.Method == http.MethodHead; {
		case r.Method == http.MethodPut && outputPath.MatchString(r.RequestURI):
			r.Body = &deadlineReader{r.Body, control}
		case !download || !filePath.MatchString(r.RequestURI):
			refuse(w, http.StatusNotFound, "this address has the files and outputs of tasks alone; use the address of the API")
			return
		}
		proxy.ServeHTTP(&deadlineWriter{w, control}, r)
	})
}

// A deadlineReader sets a new read deadline for each part of the body.
type deadlineReader struct {
	io.ReadCloser

	control *http.ResponseController
}

// Read reads one part of the body.
func (r *deadlineReader) Read(p []byte) (int, error) {
	if err := r.control.SetReadDeadline(time.Now().Add(filesStall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return r.ReadCloser.Read(p)
}

func refuse(w http.ResponseWriter, code int, detail string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Connection", "close") // the handler does not read the body of the request
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(task.Detail{Detail: detail, Reason: string(problem.OfCode(code))}) // the client may have disconnected
}

// A deadlineWriter sets a new write deadline for each part of the response.
type deadlineWriter struct {
	http.ResponseWriter

	control *http.ResponseController
}

// Write writes one part of the response.
func (w *deadlineWriter) Write(p []byte) (int, error) {
	if err := w.control.SetWriteDeadline(time.Now().Add(filesStall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap gives the ResponseController access to the connection.
func (w *deadlineWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
