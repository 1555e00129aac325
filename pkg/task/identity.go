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

// Credentials contains what a request says about its sender. No field is proven.
type Credentials struct {
	Peer   netip.Addr // remote address of the connection
	User   string     // header X-User; empty if the server does not read it
	Groups string     // header X-Groups, separated by commas
	Token  string     // header Authorization: Bearer
}

// An Identity is the authenticated sender of a request.
type Identity struct {
	User   string
	Groups []string
	Admin  bool // may read and stop the objects of all users

	// CanListAllUsers allows all_users: for administrators, and for everybody if the server
	// has no administrators.
	CanListAllUsers bool
}

const maxUser = 253 // largest size of a user name, in bytes

// UserName returns a user name without surrounding spaces and tabs. The error says why the
// name is invalid.
func UserName(given string) (string, error) {
	name := strings.Trim(given, " \t")
	return name, CheckUser(name)
}

// CheckUser returns an error if name is not a valid user name. CheckUser rejects invisible
// characters, which would make different names look alike.
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

// invisible reports whether r is invisible: a space that looks like another space, a format
// character, or a private or unassigned character.
func invisible(r rune) bool {
	// The wide space is visibly wider than a space, and usual in names.
	const emptyBraille, wideBlank = '\u2800', '\u3000'
	return !unicode.IsGraphic(r) || r != ' ' && r != wideBlank && unicode.IsSpace(r) || r == emptyBraille || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Admins lists the administrators: user names, and groups as group:NAME.
type Admins []string

const groupPrefix = "group:"

// Check returns an error for the first invalid name.
func (a Admins) Check() error {
	for _, name := range a {
		if err := CheckUser(strings.TrimPrefix(name, groupPrefix)); err != nil {
			return fmt.Errorf("%s: %w", Quote(name), err)
		}
	}
	return nil
}

// Has reports whether a user with these groups is an administrator.
func (a Admins) Has(user string, groups []string) bool {
	for _, name := range a {
		group, isGroup := strings.CutPrefix(name, groupPrefix)
		if isGroup && slices.Contains(groups, group) || !isGroup && name == user {
			return true
		}
	}
	return false
}

// Whoami is the body of GET /whoami.
type Whoami struct {
	User   string     `json:"user"`
	Groups []string   `json:"groups"`
	Admin  bool       `json:"admin"`
	By     string     `json:"identified_by"` // header, token, tokenreview or oidc
	Limits UserLimits `json:"limits"`
	Usage  Usage      `json:"usage"`
}

// Login is the body of GET /auth: what a client needs to know to authenticate.
type Login struct {
	By       string `json:"identified_by"`
	Issuer   string `json:"issuer,omitempty"`    // OpenID Connect issuer
	ClientID string `json:"client_id,omitempty"` // client id of the CLI at the issuer
	Audience string `json:"audience,omitempty"`  // audience that a Kubernetes token must have
}
