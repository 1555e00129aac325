package issuer

import (
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
)

// A client accepts the tokens of each algorithm in each realm, and no tokens of another key.
func TestTokensAreVerified(t *testing.T) {
	for _, algorithm := range []string{"RS256", "ES256", "EdDSA"} {
		i, stranger := New("client", NewKey("k", algorithm)), NewKey("k", algorithm)
		t.Cleanup(i.Close)
		for _, url := range []string{i.URL, i.URL + "/realm"} {
			provider, err := oidc.NewProvider(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			verifier, claims := provider.Verifier(&oidc.Config{ClientID: "client"}), i.Claims(map[string]any{"iss": url})
			if token, err := verifier.Verify(t.Context(), i.Key().Token(claims)); err != nil || token.Subject != "ann" {
				t.Errorf("%s at %s: %+v, %v", algorithm, url, token, err)
			}
			if _, err := verifier.Verify(t.Context(), stranger.Token(claims)); err == nil {
				t.Errorf("%s at %s: the token of a stranger is accepted", algorithm, url)
			}
		}
	}
}
