package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"net/http"

	testissuer "k8s-cli/test/testkit/issuer"
)

// audience is the client id for which tokens must be issued.
const audience = "k8s-cli"

// An issuer signs valid tokens and invalid ones. It serves the key of a stranger at /strange.
type issuer struct {
	*testissuer.Issuer
	rsa, ec, stranger testissuer.Key
}

func newIssuer() *issuer {
	i := &issuer{rsa: testissuer.NewKey("rsa", "RS256"), ec: testissuer.NewKey("ec", "ES256"), stranger: testissuer.NewKey("strange", "RS256")}
	i.Issuer = testissuer.New(audience, i.rsa, i.ec)
	i.SetBehavior(testissuer.Behavior{Before: func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/strange/keys" {
			return false
		}
		testissuer.Send(w, http.StatusOK, testissuer.KeySet(i.stranger))
		return true
	}})
	return i
}

// token returns a valid token with these claims.
func (i *issuer) token(claims map[string]any) string { return i.Token(claims) }

// signed returns a token with any header and any signature.
func (i *issuer) signed(header, claims map[string]any, sign func([]byte) []byte) string {
	return testissuer.Sign(header, i.Claims(claims), sign)
}

// byHMAC signs with a secret that every client knows.
func byHMAC(secret []byte) func([]byte) []byte {
	return func(text []byte) []byte {
		mac := hmac.New(sha256.New, secret)
		_, _ = mac.Write(text)
		return mac.Sum(nil)
	}
}

func (i *issuer) publicPEM() []byte {
	raw, err := x509.MarshalPKIXPublicKey(i.rsa.Public())
	if err != nil {
		panic(err) // the key is an RSA key
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: raw})
}
