package issuer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
)

// A Key signs tokens.
type Key struct {
	crypto.Signer

	ID, Algorithm string
}

// NewKey returns a key for RS256, ES256 or EdDSA.
func NewKey(id, algorithm string) Key {
	var key crypto.Signer
	var err error
	switch algorithm {
	case "RS256":
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	case "ES256":
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	default:
		_, key, err = ed25519.GenerateKey(nil)
	}
	if err != nil {
		panic(err) // these sizes and curves are valid
	}
	return Key{key, id, algorithm}
}

// JWK returns the public key.
func (k Key) JWK() map[string]any {
	jwk := map[string]any{"alg": k.Algorithm, "use": "sig", "kid": k.ID}
	switch public := k.Public().(type) {
	case *rsa.PublicKey:
		jwk["kty"], jwk["n"], jwk["e"] = "RSA", encode(public.N.Bytes()), encode(big.NewInt(int64(public.E)).Bytes())
	case *ecdsa.PublicKey:
		point, _ := public.Bytes() // the byte 4, x and y
		jwk["kty"], jwk["crv"], jwk["x"], jwk["y"] = "EC", "P-256", encode(point[1:33]), encode(point[33:])
	case ed25519.PublicKey:
		jwk["kty"], jwk["crv"], jwk["x"] = "OKP", "Ed25519", encode(public)
	}
	return jwk
}

// KeySet returns the public keys as a JWK Set.
func KeySet(keys ...Key) map[string]any {
	all := []map[string]any{}
	for _, k := range keys {
		all = append(all, k.JWK())
	}
	return map[string]any{"keys": all}
}

// SignText returns the signature of a text (RFC 7515).
func (k Key) SignText(text []byte) []byte {
	sum := sha256.Sum256(text)
	var signature []byte
	var err error
	switch key := k.Signer.(type) {
	case ed25519.PrivateKey:
		signature = ed25519.Sign(key, text)
	case *ecdsa.PrivateKey:
		r, s, failed := ecdsa.Sign(rand.Reader, key, sum[:])
		if err = failed; err == nil {
			signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		}
	default:
		signature, err = key.Sign(rand.Reader, sum[:], crypto.SHA256)
	}
	if err != nil {
		panic(err) // NewKey has made the key
	}
	return signature
}

// Token returns a token with these claims.
func (k Key) Token(claims map[string]any) string {
	return Sign(map[string]any{"alg": k.Algorithm, "kid": k.ID}, claims, k.SignText)
}

// Sign returns a token with any header, any claims and any signature.
func Sign(header, claims map[string]any, sign func(text []byte) []byte) string {
	head, _ := json.Marshal(header)
	body, _ := json.Marshal(claims)
	text := encode(head) + "." + encode(body)
	return text + "." + encode(sign([]byte(text)))
}

func encode(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }
