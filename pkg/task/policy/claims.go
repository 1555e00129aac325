package policy

import (
	"slices"

	"k8s-cli/pkg/task"
)

// LiteralClaims selects the claims that tasks may mount by the name of the claim instead of
// the name of a volume.
type LiteralClaims string

// The values of LiteralClaims. The zero value is LiteralAll.
const (
	LiteralAll      LiteralClaims = "all"      // claims without an owner
	LiteralLabelled LiteralClaims = "labelled" // claims without an owner that have task.LabelShared
	LiteralOff      LiteralClaims = "off"      // none
)

// Claims decides which claims tasks may mount by their names.
type Claims struct {
	Literal  LiteralClaims
	Reserved []string // names of claims that no task may mount
}

// Allows reports whether tasks of user may mount c by its name. No task may mount the claim
// of a pod or of the Helm release. A claim with an owner may be mounted only by tasks of
// the owner.
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
