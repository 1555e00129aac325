package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s-cli/pkg/client/account"
)

const revokeTimeout = 10 * time.Second

// LogOut deletes the stored credential for the server and the stored user name, and revokes
// the session at its issuer. If the issuer cannot be reached, LogOut prints a warning: the
// credential is deleted on this machine in any case.
func (a *Account) LogOut(ctx context.Context) error {
	c, err := a.Settings.Credential(a.URL)
	if err == nil {
		err = a.Settings.SaveCredential(a.URL, nil)
	}
	if err := errors.Join(err, a.Settings.DeleteUser()); err != nil {
		return err
	}
	if c == nil || c.Session == nil || c.Session.Refresh == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, revokeTimeout)
	defer cancel()
	if err := revoke(ctx, *c.Session); err != nil {
		a.Console.Warn("The credentials on this machine are deleted, but the session at the issuer remains until it expires: %v", err)
	}
	return nil
}

// revoke invalidates the refresh token of the session at the issuer (RFC 7009).
func revoke(ctx context.Context, s account.Session) error {
	i, err := account.Discover(ctx, s.Issuer, s.ClientID)
	switch {
	case err != nil:
		return err
	case i.Revocation == "":
		return fmt.Errorf("the issuer %s has no revocation endpoint", s.Issuer)
	case !account.IsSecureURL(i.Revocation):
		return fmt.Errorf("the issuer %s names the revocation endpoint %q, which is not an https:// URL", s.Issuer, i.Revocation)
	}
	form := url.Values{"token": {s.Refresh}, "token_type_hint": {"refresh_token"}, "client_id": {s.ClientID}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, i.Revocation, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := account.IssuerClient().Do(request)
	if err != nil {
		return i.Failed("revoke the session", err)
	}
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
		return i.Failed("revoke the session", fmt.Errorf("%s: %s", response.Status, body))
	}
	return nil
}
