package bucket

import (
	"fmt"
	"regexp"
	"strings"
)

// A Transfer holds the choices of the server for the buckets of a task.
type Transfer struct {
	Image string `json:"image,omitempty"` // image with the program that moves the data
	Max   int64  `json:"max,omitempty"`   // largest size of all buckets of a node together, in bytes

	// Secrets with the credentials for buckets, by the paths of the buckets; see Rule. The other
	// buckets have the credentials of the task.
	Secrets map[string]string `json:"secrets,omitempty"`
}

// A Rule gives the credentials in a Secret to the containers that move the data of buckets below a URL.
type Rule struct {
	URL    string // of a bucket, or of a prefix; {user} stands for the name of the user
	Secret string // in the namespace of the tasks; its keys are the names of variables
}

// Rules are the rules of a server.
type Rules []Rule

const userField = "{user}"

var secretForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

// ParseRule returns the rule in the form URL=SECRET.
func ParseRule(text string) (Rule, error) {
	i := strings.LastIndex(text, "=")
	if i < 0 {
		return Rule{}, fmt.Errorf("%q does not have the form URL=SECRET", text)
	}
	r := Rule{URL: strings.TrimRight(text[:i], "/"), Secret: text[i+1:]}
	if _, err := ParseURL(strings.ReplaceAll(r.URL, userField, "ann")); err != nil {
		return Rule{}, err
	}
	if !secretForm.MatchString(r.Secret) {
		return Rule{}, fmt.Errorf("%q is not the name of a Secret", r.Secret)
	}
	return r, nil
}

// secretOf returns the Secret with the credentials of user for a URL, "" if there is none. The rule
// with the longest URL counts.
func (all Rules) secretOf(url, user string) string {
	longest, secret := -1, ""
	for _, r := range all {
		prefix, valid := r.prefixOf(user)
		if valid && len(prefix) > longest && strings.HasPrefix(strings.TrimRight(url, "/")+"/", prefix+"/") {
			longest, secret = len(prefix), r.Secret
		}
	}
	return secret
}

// prefixOf returns the URL of the rule for a user. A name that is not one part of a path is not valid,
// because the name could refer to the prefix of another user.
func (r Rule) prefixOf(user string) (prefix string, valid bool) {
	if !strings.Contains(r.URL, userField) {
		return r.URL, true
	}
	valid = user != "" && user != "." && user != ".." && !strings.ContainsAny(user, "/\\")
	return strings.ReplaceAll(r.URL, userField, user), valid
}

// Secrets returns the Secrets with the credentials for the buckets of a task, by the paths of the
// buckets. isSet reports whether the task has a value for a variable. A bucket has no Secret if the
// task itself has credentials for its store.
func (all Rules) Secrets(m Mounts, user string, isSet func(variable string) bool) map[string]string {
	var secrets map[string]string
	for _, target := range m.Paths() {
		url := m[target].URL
		secret := all.secretOf(url, user)
		if r, err := ParseURL(url); err != nil || secret == "" || r.hasCredentials(isSet) {
			continue
		}
		if secrets == nil {
			secrets = map[string]string{}
		}
		secrets[target] = secret
	}
	return secrets
}

// hasCredentials reports whether one of the variables with credentials is set.
func (r Remote) hasCredentials(isSet func(variable string) bool) bool {
	for _, names := range r.Credentials {
		for _, name := range names {
			if isSet(name) {
				return true
			}
		}
	}
	return false
}

// Renamed returns r with a prefix before the names of its variables.
func (r Remote) Renamed(prefix string) Remote {
	r.Credentials, r.Settings = renamed(r.Credentials, prefix), renamed(r.Settings, prefix)
	return r
}

func renamed(variables map[string][]string, prefix string) map[string][]string {
	all := map[string][]string{}
	for option, names := range variables {
		for _, name := range names {
			all[option] = append(all[option], prefix+name)
		}
	}
	return all
}
