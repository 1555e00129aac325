package login

import (
	"context"
	"fmt"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/pkg/client/account"
)

const maxInterval = 60 // seconds between two requests to the token endpoint

// logInWithCode logs the user in with the device flow. The user may use the browser of
// another machine.
func (i issuer) logInWithCode(ctx context.Context, screen *console.Console) (account.Session, error) {
	asking := account.IssuerContext(ctx)
	code, err := i.Config.DeviceAuth(asking)
	if err != nil {
		return account.Session{}, i.Failed("ask for a code", err)
	}
	for _, address := range []string{code.VerificationURI, code.VerificationURIComplete} {
		if (address != "" || code.VerificationURI == "") && !account.IsSecureURL(address) {
			return account.Session{}, fmt.Errorf("the issuer %s asks for the code at %q, which is not an https:// URL; do not enter the code anywhere", i.URL, address)
		}
	}
	if code.Interval < 0 || code.Interval > maxInterval {
		return account.Session{}, fmt.Errorf("the issuer %s requests a polling interval of %d seconds; the interval must be between 0 and %d", i.URL, code.Interval, maxInterval)
	}
	screen.Say("Open %s and enter the code %s", code.VerificationURI, code.UserCode)
	if code.VerificationURIComplete != "" {
		screen.Say("or open %s", code.VerificationURIComplete)
	}
	got, err := i.Config.DeviceAccessToken(asking, code)
	if err != nil {
		return account.Session{}, i.Failed("log in", err)
	}
	return i.session(ctx, got, "")
}
