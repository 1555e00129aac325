// Package seal keeps the values of a task's secrets out of the log: they are in
// it only under a key that all pods share and the log does not have.
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

// MinKey is the least that a key has to have: 256 bits, if all are random.
const MinKey = 32 // bytes

// A Sealer seals and opens with one key.
type Sealer struct {
	aead           cipher.AEAD
	fingerprintKey []byte // key of the marks
	tokenKey       []byte // key of the tokens
}

// New returns a box with a key of at least MinKey bytes.
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
	// A nonce of its own for each seal, random and part of the result: good for
	// 2^32 of them under one key.
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("create a cipher: %w", err)
	}
	return &Sealer{aead, mark, token}, nil
}

// Seal returns s with the values of its secrets sealed. They open for the same
// id and user only.
func (b *Sealer) Seal(s task.Submit) (task.Submit, error) {
	if len(s.Task.Secrets) == 0 {
		return s, nil
	}
	values, err := task.Marshal(s.Task.Secrets) // in the order of their names
	if err != nil {
		return s, fmt.Errorf("encode the secrets: %w", err)
	}
	s.Sealed = b.aead.Seal(nil, nil, values, about(s.ID, s.User))
	if s.Key != "" { // else no submission is ever compared with it
		s.SecretsMAC = b.fingerprint(about(s.Key, s.User), values)
	}
	names := s.Task.Secrets
	s.Task.Secrets = make(map[string]string, len(names))
	for name := range names {
		s.Task.Secrets[name] = task.Redacted
	}
	return s, nil
}

// Open returns the values that were sealed in s. The error says nothing of them.
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

// Token returns what the pods of a task show to get its uploads. It is good for
// that task alone, and for nothing else.
func (b *Sealer) Token(id string) string {
	mac := hmac.New(sha256.New, b.tokenKey)
	mac.Write([]byte(id))
	return hex.EncodeToString(mac.Sum(nil))
}

// VerifyToken reports whether token is the one of the task.
func (b *Sealer) VerifyToken(id, token string) bool {
	return hmac.Equal([]byte(b.Token(id)), []byte(token))
}

// fingerprint tells equal values from others to those who have the key, and tells
// everybody else nothing, not even which tasks have equal ones.
func (b *Sealer) fingerprint(about, values []byte) string {
	mac := hmac.New(sha256.New, b.fingerprintKey)
	mac.Write(about)
	mac.Write([]byte{0})
	mac.Write(values)
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// about joins what neither holds a NUL character.
func about(first, user string) []byte { return []byte(first + "\x00" + user) }
