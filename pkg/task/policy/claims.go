package policy

import (
	"slices"

	"k8s-cli/pkg/task"
)

// LiteralClaims says which claims tasks may mount by the names of the claims, and
// not by those of volumes.
type LiteralClaims string

// The values of LiteralClaims. The zero value is LiteralAll.
const (
	LiteralAll      LiteralClaims = "all"      // claims that nobody owns
	LiteralLabelled LiteralClaims = "labelled" // of these the ones with task.LabelShared
	LiteralOff      LiteralClaims = "off"      // none
)

// Claims says which claims tasks may mount by their names.
type Claims struct {
	Literal  LiteralClaims
	Reserved []string // names of claims that no task mounts
}

// Allows reports whether tasks of user may mount c by its name. A claim of a pod
// or of the release itself is never mounted, and a claim that has an owner only by
// tasks of that user.
func (p Claims) Allows(user string, c *task.Claim) bool {
	switch {
	case c.Deleting || c.OfPod || c.OfRelease || slices.Contains(p.Reserved, c.Name):
		return false
	case c.Ours:
		return c.User == user && !c.Legacy
	case c.User != "" && c.User != user || p.Literal == LiteralOff:
		return false
	}
	return c.Shared || p.Literal != LiteralLabelled
}
