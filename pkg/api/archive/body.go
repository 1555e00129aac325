package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"k8s-cli/pkg/task/problem"
)

// A body is an archive that arrives. Read returns tooLarge if the archive exceeds the limit.
type body struct {
	from     io.Reader
	limit    int64 // bytes
	tooLarge error
	size     int64 // bytes read so far
	exceeded bool
	hash     hash.Hash
}

func newBody(from io.Reader, limit int64, tooLarge error) *body {
	return &body{from: from, limit: limit, tooLarge: tooLarge, hash: sha256.New()}
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.size += int64(n)
	_, _ = b.hash.Write(p[:n]) // Write of a hash never returns an error
	if b.size > b.limit {
		b.exceeded = true
		return 0, b.tooLarge
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, problem.New(problem.Unavailable, fmt.Sprintf("the archive of the outputs did not arrive: %v", err)) // the node sends it again
	}
	return n, err
}

// sum returns the SHA-256 of what was read.
func (b *body) sum() string { return hex.EncodeToString(b.hash.Sum(nil)) }
