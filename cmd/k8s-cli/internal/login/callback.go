package login

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

const (
	callbackPath    = "/callback"
	callbackTimeout = 30 * time.Second // for a request and its answer
)

// A callback takes the answer of an issuer, which the user's browser brings.
type callback struct {
	state   string // of the login
	issuer  string
	answers chan error // its first answer: nil if it has a code
	code    string     // of the answer; read after answers
	once    sync.Once
}

// awaitCode serves the callback until the browser has brought its answer, and
// returns the code in it.
func awaitCode(ctx context.Context, listener net.Listener, c *callback) (string, error) {
	c.answers = make(chan error, 1)
	server := &http.Server{Handler: c, ReadTimeout: callbackTimeout, WriteTimeout: callbackTimeout}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			c.answer("", err)
		}
	})
	var err error
	select {
	case err = <-c.answers:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	_ = server.Close() // the browser has its page
	serving.Wait()
	return c.code, err
}

func (c *callback) answer(code string, err error) {
	c.once.Do(func() {
		c.code = code
		c.answers <- err
	})
}

// ServeHTTP takes the answer to this login. What does not have its state is of
// another login, or of a page that wants to interfere.
func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case r.Method != http.MethodGet || r.URL.Path != callbackPath:
		writePage(w, http.StatusNotFound, "Page not found.")
		return
	case subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(c.state)) != 1:
		writePage(w, http.StatusBadRequest, "This response does not belong to the login that k8s-cli started.")
		return
	}
	err := c.check(q)
	if err != nil {
		writePage(w, http.StatusBadRequest, "The login failed. The terminal shows the reason. You can close this page.")
	} else {
		writePage(w, http.StatusOK, "The login continues in the terminal. You can close this page.")
	}
	c.answer(q.Get("code"), err)
}

// check reports whether the answer has a code of the issuer.
func (c *callback) check(q url.Values) error {
	switch {
	case q.Has("iss") && q.Get("iss") != c.issuer: // RFC 9207
		return fmt.Errorf("the response comes from another issuer, %s", q.Get("iss"))
	case q.Get("error") != "":
		return fmt.Errorf("the issuer refused: %s %s", q.Get("error"), q.Get("error_description"))
	case q.Get("code") == "":
		return errors.New("the response has no code")
	}
	return nil
}

// writePage sends a page that loads nothing and runs nothing.
func writePage(w http.ResponseWriter, code int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	page := "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>k8s-cli</title><p>" + text + "</p></html>\n"
	h.Set("Content-Length", strconv.Itoa(len(page)))
	w.WriteHeader(code)
	_, _ = io.WriteString(w, page)
	_ = http.NewResponseController(w).Flush() // the browser may have left
}
