// Package seal encrypts secrets of tasks, and cookies of browsers. The secrets of a task are
// encrypted before they enter the log. All pods share the key; the log does not contain the
// key.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"k8s-cli/pkg/task"
)

// MinKeyBytes is the smallest size of a key, in bytes: 256 bits, if all bits are random.
const MinKeyBytes = 32

// A Sealer encrypts and decrypts secrets with one key.
type Sealer struct {
	aead           cipher.AEAD
	fingerprintKey []byte // key of fingerprint
	tokenKey       []byte // key of UploadToken and OutputToken
	notifyKey      []byte // key of NotifySecret
	cookies        cipher.AEAD
}

// New returns a Sealer with a key of at least MinKeyBytes bytes.
func New(key []byte) (*Sealer, error) {
	if len(key) < MinKeyBytes {
		return nil, fmt.Errorf("the key has %d bytes, but needs at least %d", len(key), MinKeyBytes)
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
	notify, err := hkdf.Key(sha256.New, key, nil, "k8s-cli notifications: secrets", 32)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	cookie, err := hkdf.Key(sha256.New, key, nil, "k8s-cli sessions: cookies", 32)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	aead, err := newCipher(sealing)
	if err != nil {
		return nil, err
	}
	cookies, err := newCipher(cookie)
	if err != nil {
		return nil, err
	}
	return &Sealer{aead, mark, token, notify, cookies}, nil
}

func newCipher(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("create a cipher: %w", err)
	}
	// Each Seal uses a fresh random nonce, which is part of the result. Random nonces are
	// safe for 2^32 encryptions under one key.
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("create a cipher: %w", err)
	}
	return aead, nil
}

// Seal returns submit with the values of its secrets encrypted. The encryption is bound to the
// id and the user of submit.
func (s *Sealer) Seal(submit task.Submit) (task.Submit, error) {
	if len(submit.Task.Secrets) == 0 {
		return submit, nil
	}
	values, err := task.Marshal(submit.Task.Secrets) // sorted by name, so that equal secrets have equal bytes
	if err != nil {
		return submit, fmt.Errorf("encode the secrets: %w", err)
	}
	submit.Sealed = s.aead.Seal(nil, nil, values, about(submit.ID, submit.User))
	if submit.Key != "" { // without a key, submit is never compared with another submission
		submit.SecretsMAC = s.fingerprint(about(submit.Key, submit.User), values)
	}
	names := submit.Task.Secrets
	submit.Task.Secrets = make(map[string]string, len(names))
	for name := range names {
		submit.Task.Secrets[name] = task.Redacted
	}
	return submit, nil
}

// Open decrypts the secrets of submit. The error does not contain any secret.
func (s *Sealer) Open(submit task.Submit) (map[string]string, error) {
	raw, err := s.aead.Open(nil, nil, submit.Sealed, about(submit.ID, submit.User))
	if err != nil {
		return nil, fmt.Errorf("open the secrets of task %s: %w", submit.ID, err)
	}
	values := map[string]string{}
	if err := json.Unmarshal(raw, &values); err != nil {
		return nil, fmt.Errorf("open the secrets of task %s: the sealed data is malformed", submit.ID)
	}
	return values, nil
}

// UploadToken returns the upload token, with which the pods of one task fetch the task's uploads.
// The token is valid for no other task and for no other purpose.
func (s *Sealer) UploadToken(id string) string {
	mac := hmac.New(sha256.New, s.tokenKey)
	mac.Write([]byte(id))
	return hex.EncodeToString(mac.Sum(nil))
}

// VerifyToken reports whether token is the upload token of the task, in constant time.
func (s *Sealer) VerifyToken(id, token string) bool {
	return hmac.Equal([]byte(s.UploadToken(id)), []byte(token))
}

// NotifySecret returns the secret with which the notifications of a user are signed. It is the
// same on all pods, and has no other use.
func (s *Sealer) NotifySecret(user string) []byte {
	mac := hmac.New(sha256.New, s.notifyKey)
	mac.Write([]byte(user))
	return mac.Sum(nil)
}

// OutputToken returns the token with which one node of a task sends its outputs. The token is valid
// for no other node and for no other purpose.
func (s *Sealer) OutputToken(id string, rank int) string {
	mac := hmac.New(sha256.New, s.tokenKey)
	mac.Write([]byte(id + "/outputs/" + strconv.Itoa(rank))) // no id contains a slash
	return hex.EncodeToString(mac.Sum(nil))
}

// VerifyOutputToken reports whether token is the OutputToken of the node, in constant time.
func (s *Sealer) VerifyOutputToken(id string, rank int, token string) bool {
	return hmac.Equal([]byte(s.OutputToken(id, rank)), []byte(token))
}

// SealCookie encrypts the value of a cookie. The result opens only with the same purpose.
func (s *Sealer) SealCookie(purpose string, value []byte) string {
	return base64.RawURLEncoding.EncodeToString(s.cookies.Seal(nil, nil, value, []byte(purpose)))
}

// OpenCookie decrypts a cookie. The error does not contain any part of the cookie.
func (s *Sealer) OpenCookie(purpose, cookie string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cookie)
	if err != nil {
		return nil, errors.New("open a cookie: it is malformed")
	}
	value, err := s.cookies.Open(nil, nil, raw, []byte(purpose))
	if err != nil {
		return nil, errors.New("open a cookie: it was changed, or has another key or purpose")
	}
	return value, nil
}

// fingerprint returns a keyed MAC of values. With the key, equal values can be recognised;
// without the key, fingerprints do not even show which tasks have equal values.
func (s *Sealer) fingerprint(about, values []byte) string {
	mac := hmac.New(sha256.New, s.fingerprintKey)
	mac.Write(about)
	mac.Write([]byte{0})
	mac.Write(values)
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// about joins two strings. Neither string contains a NUL character, so the result is
// unambiguous.
func about(first, user string) []byte { return []byte(first + "\x00" + user) }
