package login

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/pkg/client/account"
)

const browserTimeout = 10 * time.Minute // for the user to log in

// logInWithBrowser logs the user in with the browser of this machine. It uses the
// authorization code flow with PKCE (RFC 8252, RFC 7636).
func (i issuer) logInWithBrowser(ctx context.Context, screen *console.Console, browse func(address string) error) (account.Session, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return account.Session{}, fmt.Errorf("listen for the browser: %w; use --device to log in without a browser on this machine", err)
	}
	config := i.Config
	config.RedirectURL = "http://" + listener.Addr().String() + callbackPath
	state, nonce, verifier := rand.Text(), rand.Text(), oauth2.GenerateVerifier()
	address := config.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier))
	screen.Say("Opening this page in your browser; open it yourself if it does not appear:")
	screen.Say("  %s", address)
	screen.Say("If it shows an error, press Ctrl+C and log in with a code: k8s-cli auth login --device")
	if err := browse(address); err != nil {
		screen.Warn("cannot start the browser: %v", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, browserTimeout, fmt.Errorf("the login in the browser was not completed within %s; run the command again", browserTimeout))
	defer cancel()
	code, err := awaitCode(ctx, listener, &callback{state: state, issuer: i.URL})
	if err != nil {
		return account.Session{}, i.Failed("log in", err)
	}
	got, err := config.Exchange(account.IssuerContext(ctx), code, oauth2.VerifierOption(verifier))
	if err != nil {
		return account.Session{}, i.Failed("log in", err)
	}
	return i.session(ctx, got, nonce)
}

// Browser returns a function that opens a page in the user's browser, or nil if there is
// no display.
func Browser(lookup func(string) (string, bool)) func(address string) error {
	set := func(name string) bool {
		value, _ := lookup(name)
		return value != ""
	}
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	default:
		if !set("DISPLAY") && !set("WAYLAND_DISPLAY") {
			return nil
		}
	}
	path, err := exec.LookPath(command[0])
	if err != nil || set("SSH_CONNECTION") || set("SSH_TTY") {
		return nil
	}
	return func(address string) error {
		cmd := exec.Command(path, append(command[1:], address)...) // the browser may outlive the command
		if err := cmd.Start(); err != nil {
			return err
		}
		return cmd.Process.Release()
	}
}
