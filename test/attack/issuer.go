package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"
)

// audience is the client id for which tokens must be issued.
const audience = "k8s-cli"

// An issuer signs valid tokens and invalid ones.
type issuer struct {
	*httptest.Server
	rsa, stranger *rsa.PrivateKey
	ec            *ecdsa.PrivateKey
	asked         atomic.Int64 // requests for its keys
}

func newIssuer() (*issuer, error) {
	i := &issuer{}
	var err error
	if i.rsa, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		return nil, err
	}
	if i.stranger, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		return nil, err
	}
	if i.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL, "token_endpoint": i.URL})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		i.asked.Add(1)
		point, _ := i.ec.PublicKey.Bytes() // the byte 4, x and y
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{
			jwk(&i.rsa.PublicKey, "rsa"),
			map[string]any{"kty": "EC", "alg": "ES256", "use": "sig", "kid": "ec", "crv": "P-256", "x": base64url(point[1:33]), "y": base64url(point[33:])},
		}})
	})
	mux.HandleFunc("/strange", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{jwk(&i.stranger.PublicKey, "strange")}})
	})
	i.Server = httptest.NewServer(mux)
	return i, nil
}

func jwk(key *rsa.PublicKey, id string) map[string]any {
	return map[string]any{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": id, "n": base64url(key.N.Bytes()), "e": base64url(big.NewInt(int64(key.E)).Bytes())}
}

func base64url(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// claims returns the claims of a valid token, overwritten by more. A nil value removes a
// claim.
func (i *issuer) claims(more map[string]any) map[string]any {
	all := map[string]any{"iss": i.URL, "aud": audience, "sub": "ann", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix()}
	maps.Copy(all, more)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	return all
}

// token returns a valid token with these claims.
func (i *issuer) token(claims map[string]any) string {
	return i.signed(map[string]any{"alg": "RS256", "kid": "rsa"}, claims, i.byRSA(i.rsa))
}

// signed returns a token with any header and any signature.
func (i *issuer) signed(header, claims map[string]any, sign func([]byte) []byte) string {
	head, _ := json.Marshal(header)
	body, _ := json.Marshal(i.claims(claims))
	text := base64url(head) + "." + base64url(body)
	return text + "." + base64url(sign([]byte(text)))
}

func (i *issuer) byRSA(key *rsa.PrivateKey) func([]byte) []byte {
	return func(text []byte) []byte {
		sum := sha256.Sum256(text)
		signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
		if err != nil {
			panic(err) // the key has 2048 bits
		}
		return signature
	}
}

func (i *issuer) byEC(text []byte) []byte {
	sum := sha256.Sum256(text)
	r, s, err := ecdsa.Sign(rand.Reader, i.ec, sum[:])
	if err != nil {
		panic(err) // the curve is P-256
	}
	return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
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
	raw, err := x509.MarshalPKIXPublicKey(&i.rsa.PublicKey)
	if err != nil {
		panic(err) // the key is an RSA key
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: raw})
}
