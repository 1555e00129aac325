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
	callbackTimeout = 30 * time.Second // for one request with its response
)

// A callback receives the response of an issuer through the user's browser.
type callback struct {
	state   string // of this login
	issuer  string
	answers chan error // the error of the first response; nil if the response has a code
	code    string     // the code in the response; valid after a receive from answers
	once    sync.Once
}

// awaitCode serves c on listener until the browser has sent the issuer's response, and
// returns the code in the response.
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
	_ = server.Close() // the browser has received its page
	serving.Wait()
	return c.code, err
}

func (c *callback) answer(code string, err error) {
	c.once.Do(func() {
		c.code = code
		c.answers <- err
	})
}

// ServeHTTP receives the response for this login. It rejects a request with another
// state: such a request belongs to another login, or comes from a malicious page.
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

// check returns an error unless the response has a code of the issuer.
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

// writePage sends a page that loads nothing and runs no scripts.
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
	_ = http.NewResponseController(w).Flush() // the browser may have disconnected
}
