package task

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Credentials is what a request says of who sends it; none of it is proven.
type Credentials struct {
	Peer   netip.Addr // the other end of the connection
	User   string     // of the header X-User; empty where that is not read
	Groups string     // of the header X-Groups, with commas between them
	Token  string     // of the header Authorization: Bearer
}

// An Identity is who asks, as the server knows it.
type Identity struct {
	User   string
	Groups []string
	Admin  bool // may read and stop what is other users'

	// CanListAllUsers says that all_users may be asked for: by administrators, and by
	// everybody where there are none.
	CanListAllUsers bool
}

const maxUser = 253 // bytes of a user's name

// UserName returns a user's name as any source gives it, without the blanks and
// tabs around it. The error says what keeps it from being one.
func UserName(given string) (string, error) {
	name := strings.Trim(given, " \t")
	return name, CheckUser(name)
}

// CheckUser reports what keeps name from being a user's. Two names that look alike
// because of characters that nobody sees are not both names.
func CheckUser(name string) error {
	switch {
	case name == "":
		return errors.New("is empty")
	case len(name) > maxUser:
		return fmt.Errorf("has %d bytes, more than the limit of %d", len(name), maxUser)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("contains control characters or is not UTF-8; remove them")
	case strings.ContainsFunc(name, invisible):
		return errors.New("contains invisible, private or unassigned characters; remove them")
	case strings.TrimSpace(name) != name:
		return errors.New("begins or ends with white space; remove it")
	}
	return nil
}

// invisible reports whether r is a character that shows nothing of itself: a blank that
// looks like another one, one that formats the others, or one that means something by
// agreement only.
func invisible(r rune) bool {
	const emptyBraille, wideBlank = '\u2800', '\u3000' // the latter is wider than a blank, and usual in names
	return !unicode.IsGraphic(r) || r != ' ' && r != wideBlank && unicode.IsSpace(r) || r == emptyBraille || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Admins are the administrators: user names, and groups as group:NAME.
type Admins []string

const groupPrefix = "group:"

// Check reports the first name that is none.
func (a Admins) Check() error {
	for _, name := range a {
		if err := CheckUser(strings.TrimPrefix(name, groupPrefix)); err != nil {
			return fmt.Errorf("%s: %w", Quote(name), err)
		}
	}
	return nil
}

// Has reports whether a user of these groups is an administrator.
func (a Admins) Has(user string, groups []string) bool {
	for _, name := range a {
		group, isGroup := strings.CutPrefix(name, groupPrefix)
		if isGroup && slices.Contains(groups, group) || !isGroup && name == user {
			return true
		}
	}
	return false
}

// Whoami answers GET /whoami.
type Whoami struct {
	User   string     `json:"user"`
	Groups []string   `json:"groups"`
	Admin  bool       `json:"admin"`
	By     string     `json:"identified_by"` // header, token, tokenreview or oidc
	Limits UserLimits `json:"limits"`
	Usage  Usage      `json:"usage"`
}

// Login answers GET /auth: what a client needs to know before it can say who
// asks.
type Login struct {
	By       string `json:"identified_by"`
	Issuer   string `json:"issuer,omitempty"`    // of OpenID Connect
	ClientID string `json:"client_id,omitempty"` // of the CLI, at the issuer
	Audience string `json:"audience,omitempty"`  // that a token of Kubernetes has to be for
}
