// Package ref finds the task or the volume that a user means. The user writes an id, the
// beginning of an id, a name, or @last.
package ref

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// Last names the newest object of the user.
const Last = "@last"

const (
	maxNamed   = 5 // objects that an error about an ambiguous text names
	leastStart = 4 // characters of an id in a command that changes something; fewer are often a number or a typing error
)

// An Object is a task or a volume that a user may mean.
type Object struct {
	ID, Name, Phase string
	Created         time.Time
}

// A Lister returns the objects of the user that may match a text.
type Lister func(ctx context.Context, text string) ([]Object, error)

// A MissingError is the error about an object that does not exist.
type MissingError struct{ Err error }

func (e *MissingError) Error() string { return e.Err.Error() }

// Unwrap returns the underlying error.
func (e *MissingError) Unwrap() error { return e.Err }

// Do calls do with the id that text means. Do first calls do with text itself, so that a
// complete id needs no list. If text is not an id, Do chooses from the objects of list.
func Do[T any](ctx context.Context, kind task.Kind, text string, list Lister, do func(id string) (T, error)) (T, error) {
	var answer T
	err := problem.New(problem.NotFound, "No "+string(kind)+" found for "+Last)
	if text != Last {
		if answer, err = do(text); !errors.Is(err, problem.NotFound) {
			return answer, err
		}
	}
	objects, wrong := list(ctx, text)
	if wrong != nil {
		return answer, wrong
	}
	id, wrong := Choose(kind, text, objects)
	switch {
	case wrong != nil:
		return answer, wrong
	case id == "":
		return answer, &MissingError{err}
	}
	if answer, err = do(id); errors.Is(err, problem.NotFound) {
		err = &MissingError{err}
	}
	return answer, err
}

// careful is list for commands that change something: a text of fewer than leastStart characters
// must be a whole id or a name.
func careful(kind task.Kind, list Lister) Lister {
	return func(ctx context.Context, text string) ([]Object, error) {
		all, err := list(ctx, text)
		if err != nil || len(text) >= leastStart || slices.ContainsFunc(all, func(o Object) bool { return o.ID == text || o.Name == text }) {
			return all, err
		}
		if i := slices.IndexFunc(all, func(o Object) bool { return strings.HasPrefix(o.ID, text) }); i >= 0 && text != "" {
			return nil, fmt.Errorf("%q is too short to name %s %s (%s, %s); write at least %d characters of the id, or the name", text, kind, all[i].ID, all[i].Name, all[i].Phase, leastStart)
		}
		return all, nil
	}
}

// Choose returns the id of the object that text means: the object with this id, the newest
// object for Last, the object with this name, or the object whose id begins with text. The
// id is empty if text matches no object. Choose returns an error if text matches several.
func Choose(kind task.Kind, text string, objects []Object) (string, error) {
	if text == "" || len(objects) == 0 {
		return "", nil
	}
	objects = slices.Clone(objects)
	slices.SortStableFunc(objects, func(a, b Object) int { return b.Created.Compare(a.Created) })
	if text == Last {
		return objects[0].ID, nil
	}
	for _, match := range []struct {
		how  string
		says func(Object) bool
	}{
		{"is the id", func(o Object) bool { return o.ID == text }},
		{"is the name", func(o Object) bool { return o.Name == text }},
		{"begins the id", func(o Object) bool { return strings.HasPrefix(o.ID, text) }},
	} {
		found := slices.DeleteFunc(slices.Clone(objects), func(o Object) bool { return !match.says(o) })
		switch len(found) {
		case 0:
		case 1:
			return found[0].ID, nil
		default:
			return "", ambiguous(kind, text, match.how, found)
		}
	}
	return "", nil
}

// ambiguous returns the error about a text that matches several objects, newest first.
func ambiguous(kind task.Kind, text, how string, found []Object) error {
	var named []string
	for _, o := range found[:min(len(found), maxNamed)] {
		named = append(named, fmt.Sprintf("%s (%s, %s)", o.ID, o.Name, o.Phase))
	}
	if more := len(found) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%q %s of %d %ss: %s; pass the id of one of them", text, how, len(found), kind, strings.Join(named, ", "))
}
