package auth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"k8s-cli/pkg/task"
)

// StaticTokens identifies users by the bearer tokens of a file, which contains the hashes of the
// tokens. A line of the file is
//
//	SHA256 USER[,GROUP...] [until=TIME]
//
// with the SHA-256 of the token in hexadecimal and TIME in RFC 3339. Empty lines and lines
// that begin with # are ignored. A user may have several tokens.
type StaticTokens struct{ file *file[tokens] }

type tokens map[[sha256.Size]byte]holder

type holder struct {
	Principal
	until time.Time // zero: no expiry
}

// ReadStaticTokens reads a file of tokens. The returned method reads the file again after a
// change.
func ReadStaticTokens(path string, logger *slog.Logger) (*StaticTokens, error) {
	f, err := openFile(path, readTokens, logger)
	if err != nil {
		return nil, err
	}
	return &StaticTokens{f}, nil
}

// Identify returns the principal of the token.
func (t *StaticTokens) Identify(_ context.Context, c task.Credentials) (Principal, error) {
	token, err := tokenOf(c)
	if err != nil {
		return Principal{}, err
	}
	h, ok := t.file.get()[sha256.Sum256([]byte(token))]
	if !ok || !h.until.IsZero() && !time.Now().Before(h.until) {
		return Principal{}, rejected(errUnknown)
	}
	return h.Principal, nil
}

func readTokens(path string) (tokens, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all, number := tokens{}, 0
	for line := range bytes.Lines(text) {
		number++
		if line = bytes.Trim(line, blanks+"\r\n"); len(line) == 0 || line[0] == '#' {
			continue
		}
		sum, h, err := parseHolder(string(line))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
		all[sum] = h
	}
	return all, nil
}

func parseHolder(line string) (sum [sha256.Size]byte, h holder, err error) {
	fields := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(blanks, r) })
	if len(fields) < 2 || len(fields) > 3 {
		return sum, h, fmt.Errorf("the line has %d fields; write SHA256 USER[,GROUP...] [until=TIME]", len(fields))
	}
	raw, err := hex.DecodeString(fields[0])
	if err != nil || len(raw) != len(sum) {
		return sum, h, fmt.Errorf("the first field is not a hexadecimal SHA-256; create one with printf %%s TOKEN | sha256sum")
	}
	copy(sum[:], raw)
	names := groupsOf(fields[1])
	if len(names) == 0 {
		return sum, h, fmt.Errorf("%q names no user", fields[1])
	}
	if err := task.CheckUser(names[0]); err != nil {
		return sum, h, fmt.Errorf("the name of the user %w", err)
	}
	h.Principal = Principal{User: names[0], Groups: names[1:]}
	if len(fields) == 2 {
		return sum, h, nil
	}
	at, ok := strings.CutPrefix(fields[2], "until=")
	if h.until, err = time.Parse(time.RFC3339, at); !ok || err != nil {
		return sum, h, fmt.Errorf("%q is not until=TIME, for example until=2027-01-31T12:00:00Z", fields[2])
	}
	return sum, h, nil
}
