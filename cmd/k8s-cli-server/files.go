package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"regexp"
	"time"
)

const (
	filesHeadTimeout = 10 * time.Second // for a request's head
	filesIdleTimeout = 2 * time.Minute  // of a connection between requests
	filesStall       = time.Minute      // for a client to take a part of an answer
	filesShutdown    = 5 * time.Second  // for requests under way
	filesHeadLimit   = 16 << 10         // bytes of a request's head
	filesBuffer      = 64 << 10         // bytes read from the server at once
)

// filePath is the path of one file of a task, as its init container asks for it.
var filePath = regexp.MustCompile(`^/tasks/[a-z0-9-]{1,63}/files/[0-9a-f]{64}$`)

// A dialer opens a connection to the server of this process.
type dialer func(context.Context) (net.Conn, error)

// serveFiles answers the pods of tasks on listener until ctx ends, then finishes
// the requests under way. It passes requests for files of tasks on to the server
// that dial reaches and answers every other request with 404, so that a network
// policy can let pods reach their files and nothing else.
func serveFiles(ctx context.Context, listener net.Listener, dial dialer, logger *slog.Logger) error {
	s := &http.Server{
		Handler:                      filesHandler(dial, logger),
		ReadHeaderTimeout:            filesHeadTimeout,
		IdleTimeout:                  filesIdleTimeout,
		MaxHeaderBytes:               filesHeadLimit,
		ErrorLog:                     slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		DisableGeneralOptionsHandler: true,
		TLSNextProto:                 map[string]func(*http.Server, *tls.Conn, http.Handler){}, // HTTP/1.1 alone
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
			r.Out.Body, r.Out.ContentLength, r.Out.TransferEncoding = nil, 0, nil
		},
		Transport: &http.Transport{
			DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
			DisableKeepAlives:  true,
			DisableCompression: true,
			ReadBufferSize:     filesBuffer,
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			logger.Debug("request for a task's file failed", "err", err)
			refuse(w, http.StatusServiceUnavailable, "the server is starting or stopping; try again")
		},
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead || !filePath.MatchString(r.RequestURI) {
			refuse(w, http.StatusNotFound, "this address has the files of tasks alone; use the address of the API")
			return
		}
		proxy.ServeHTTP(&deadlineWriter{w, http.NewResponseController(w)}, r)
	})
}

func refuse(w http.ResponseWriter, code int, detail string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Connection", "close") // whatever body follows is not read
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"detail": detail}) // the client may be gone
}

// A deadlineWriter gives the client a fresh deadline for each part of the answer.
type deadlineWriter struct {
	http.ResponseWriter

	control *http.ResponseController
}

// Write writes one part of the answer.
func (w *deadlineWriter) Write(p []byte) (int, error) {
	if err := w.control.SetWriteDeadline(time.Now().Add(filesStall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets the ResponseController reach the connection.
func (w *deadlineWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
