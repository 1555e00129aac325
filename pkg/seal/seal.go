// Package seal encrypts the values of a task's secrets before they enter the log. All pods
// share the key; the log does not contain the key.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s-cli/pkg/task"
)

// MinKey is the smallest size of a key, in bytes: 256 bits, if all bits are random.
const MinKey = 32

// A Sealer encrypts and decrypts secrets with one key.
type Sealer struct {
	aead           cipher.AEAD
	fingerprintKey []byte // key of fingerprint
	tokenKey       []byte // key of Token
}

// New returns a Sealer with a key of at least MinKey bytes.
func New(key []byte) (*Sealer, error) {
	if len(key) < MinKey {
		return nil, fmt.Errorf("the key has %d bytes, but needs at least %d", len(key), MinKey)
	}
	sealing, err := hkdf.Key(sha256.New, key, nil, "k8s-cli secrets: sealing", 32)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	mark, err := hkdf.Key(sha256.New, key, nil, "k8s-cli secrets: marks", 32)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	token, err := hkdf.Key(sha256.New, key, nil, "k8s-cli uploads: tokens", 32)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	block, err := aes.NewCipher(sealing)
	if err != nil {
		return nil, fmt.Errorf("create a cipher: %w", err)
	}
	// Each Seal uses a fresh random nonce, which is part of the result. Random nonces are
	// safe for 2^32 encryptions under one key.
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("create a cipher: %w", err)
	}
	return &Sealer{aead, mark, token}, nil
}

// Seal returns s with the values of its secrets encrypted. The encryption is bound to the
// id and the user of s.
func (b *Sealer) Seal(s task.Submit) (task.Submit, error) {
	if len(s.Task.Secrets) == 0 {
		return s, nil
	}
	values, err := task.Marshal(s.Task.Secrets) // sorted by name, so that equal secrets have equal bytes
	if err != nil {
		return s, fmt.Errorf("encode the secrets: %w", err)
	}
	s.Sealed = b.aead.Seal(nil, nil, values, about(s.ID, s.User))
	if s.Key != "" { // without a key, s is never compared with another submission
		s.SecretsMAC = b.fingerprint(about(s.Key, s.User), values)
	}
	names := s.Task.Secrets
	s.Task.Secrets = make(map[string]string, len(names))
	for name := range names {
		s.Task.Secrets[name] = task.Redacted
	}
	return s, nil
}

// Open decrypts the secrets of s. The error does not contain any secret.
func (b *Sealer) Open(s task.Submit) (map[string]string, error) {
	raw, err := b.aead.Open(nil, nil, s.Sealed, about(s.ID, s.User))
	if err != nil {
		return nil, fmt.Errorf("open the secrets of task %s: %w", s.ID, err)
	}
	values := map[string]string{}
	if err := json.Unmarshal(raw, &values); err != nil {
		return nil, fmt.Errorf("open the secrets of task %s: the sealed data is malformed", s.ID)
	}
	return values, nil
}

// Token returns the upload token, with which the pods of one task fetch the task's uploads.
// The token is valid for no other task and for no other purpose.
func (b *Sealer) Token(id string) string {
	mac := hmac.New(sha256.New, b.tokenKey)
	mac.Write([]byte(id))
	return hex.EncodeToString(mac.Sum(nil))
}

// VerifyToken reports whether token is the upload token of the task, in constant time.
func (b *Sealer) VerifyToken(id, token string) bool {
	return hmac.Equal([]byte(b.Token(id)), []byte(token))
}

// fingerprint returns a keyed MAC of values. With the key, equal values can be recognised;
// without the key, fingerprints do not even show which tasks have equal values.
func (b *Sealer) fingerprint(about, values []byte) string {
	mac := hmac.New(sha256.New, b.fingerprintKey)
	mac.Write(about)
	mac.Write([]byte{0})
	mac.Write(values)
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// about joins two strings. Neither string contains a NUL character, so the result is
// unambiguous.
func about(first, user string) []byte { return []byte(first + "\x00" + user) }
