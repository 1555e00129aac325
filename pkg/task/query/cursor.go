package query

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// A List is a request for one page: the parameters, with the caller and the time filled in.
type List struct {
	Tasks

	Caller string
	From   time.Time // meaning of Since, the same for all pages; zero means any time
	Until  time.Time // meaning of Before, in the same way
	After  *Position // last task of the page before; nil on the first page
}

// A Position is the place of a task in a sorted list: the value of the field by which the list
// is sorted, and the number of the submission, which makes positions of different tasks
// different.
type Position struct {
	Key   Key
	Order uint64
}

// A Key is the value of the field by which a list is sorted. The zero Key belongs to lists by
// ByCreated, whose tasks differ only in the number of the submission.
type Key struct {
	Missing bool   // the task has no such value, for example because it has not started
	Number  int64  // a time in nanoseconds since 1970, or the rank of a phase
	Text    string // a name
}

// List returns the request of a caller at the time now. The error is of kind problem.Invalid if
// the cursor belongs to a list with other parameters.
func (t Tasks) List(caller string, now time.Time) (List, error) {
	l := List{Tasks: t, Caller: caller}
	var err error
	if t.Since != "" {
		if l.From, err = ParseSince(t.Since, now); err != nil {
			return l, invalid(paramSince, err)
		}
	}
	if t.Before != "" {
		if l.Until, err = ParseSince(t.Before, now); err != nil {
			return l, invalid(paramBefore, err)
		}
	}
	if t.Cursor == "" {
		return l, nil
	}
	return l, l.readCursor()
}

// NextPage returns the parameters of the page at a cursor, as the query of a URL, and "" without
// a cursor.
func (l List) NextPage(cursor string) string {
	if cursor == "" {
		return ""
	}
	l.Cursor, l.Offset = cursor, 0
	return l.Values().Encode()
}

// Scope returns the user whose tasks the list contains, or all for the tasks of all users.
func (l List) Scope() (user string, all bool) {
	switch {
	case l.User != "":
		return l.User, false
	case l.AllUsers:
		return "", true
	}
	return l.Caller, false
}

// SortField returns the field by which the list is sorted, and the direction.
func (l List) SortField() (field string, descending bool) {
	if l.Sort == "" {
		return ByCreated, true
	}
	field, descending = strings.CutPrefix(string(l.Sort), "-")
	return field, descending
}

// appendIdentity appends equal texts for lists with the same tasks in the same order.
func (l List) appendIdentity(b []byte) []byte {
	user, all := l.Scope()
	field, descending := l.SortField()
	for _, text := range []string{user, l.Since, l.Before, field} {
		b = append(strconv.AppendQuote(b, text), ' ')
	}
	b = l.appendFilters(b)
	if l.Not != nil {
		b = l.Not.appendFilters(append(b, negation...))
	}
	return strconv.AppendBool(append(strconv.AppendBool(b, all), ' '), descending)
}

// appendFilters appends equal texts for the same negatable filters.
func (t *Tasks) appendFilters(b []byte) []byte {
	for _, text := range []string{t.Name, t.NamePrefix, t.Group} {
		b = append(strconv.AppendQuote(b, text), ' ')
	}
	b = appendSet(b, t.Phases)
	for _, set := range [][]string{t.Labels, t.Annotations, t.Reasons, t.NameContains, t.Points, t.GPUs, t.Machines} {
		b = appendSet(b, set)
	}
	if len(t.ExitCodes) > 0 {
		for _, code := range slices.Compact(slices.Sorted(slices.Values(t.ExitCodes))) {
			b = append(strconv.AppendInt(b, int64(code), 10), ',')
		}
	}
	return b
}

// appendSet appends equal texts for lists with the same elements.
func appendSet[T ~string](b []byte, all []T) []byte {
	if len(all) > 0 { // sorting an empty list takes longer than all the rest of the identity
		for _, one := range slices.Compact(slices.Sorted(slices.Values(all))) {
			b = append(strconv.AppendQuote(b, string(one)), ',')
		}
	}
	return append(b, ' ')
}

// CacheKey returns equal texts for requests with the same response, including the parameters
// of the next page.
func (l List) CacheKey() string {
	var buffer [256]byte
	b := strconv.AppendBool(append(strconv.AppendQuote(append(l.appendIdentity(buffer[:0]), ' '), l.User), ' '), l.AllUsers)
	for _, number := range []int64{l.From.UnixNano(), l.Until.UnixNano(), int64(l.Limit), int64(l.Offset)} {
		b = strconv.AppendInt(append(b, ' '), number, 10)
	}
	return string(strconv.AppendQuote(strconv.AppendQuote(append(b, ' '), l.Cursor), string(l.View)))
}

// A cursor holds, in this order: the version, the fingerprint of the list, the flags, and as varints
// the number of the submission, the meaning of since, the number of the key, and the meaning of
// before if the list has one. The text of the key is the rest.
const (
	cursorVersion = 1
	fingerprint   = 6 // bytes

	flagMissing = 1 // the key is missing
	flagBefore  = 2 // the list has before
)

// NextCursor returns the cursor of the page after a position.
func (l List) NextCursor(p Position) string {
	b := []byte{cursorVersion}
	b = append(b, l.fingerprint()...)
	flags, from := byte(0), int64(0)
	if p.Key.Missing {
		flags |= flagMissing
	}
	if !l.From.IsZero() {
		from = l.From.Unix()
	}
	if !l.Until.IsZero() {
		flags |= flagBefore
	}
	b = binary.AppendUvarint(append(b, flags), p.Order)
	b = binary.AppendVarint(binary.AppendVarint(b, from), p.Key.Number)
	if flags&flagBefore != 0 {
		b = binary.AppendVarint(b, l.Until.Unix())
	}
	return base64.RawURLEncoding.EncodeToString(append(b, p.Key.Text...))
}

func (l List) fingerprint() []byte {
	sum := sha256.Sum256(l.appendIdentity(nil))
	return sum[:fingerprint]
}

// readCursor sets the position and the meaning of since and before from the cursor.
func (l *List) readCursor() error {
	p, from, until, sum, ok := decodeCursor(l.Cursor)
	if !ok {
		return problem.New(problem.Invalid, fmt.Sprintf("cursor: %s is not a cursor of this server; begin again without a cursor", task.Quote(l.Cursor)))
	}
	if sum != string(l.fingerprint()) {
		return problem.New(problem.Invalid, "cursor: the cursor belongs to a list with other filters or another order; repeat the parameters of the first page, or begin again without a cursor")
	}
	l.After = &p
	if from != 0 {
		l.From = time.Unix(from, 0).UTC()
	}
	if until != 0 {
		l.Until = time.Unix(until, 0).UTC()
	}
	return nil
}

func decodeCursor(text string) (p Position, from, until int64, sum string, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < 2+fingerprint || b[0] != cursorVersion || b[1+fingerprint] > flagMissing|flagBefore {
		return p, 0, 0, "", false
	}
	sum = string(b[1 : 1+fingerprint])
	flags := b[1+fingerprint]
	b = b[2+fingerprint:]
	order, n := binary.Uvarint(b)
	if n <= 0 || order == 0 {
		return p, 0, 0, "", false
	}
	b = b[n:]
	numbers := []*int64{&from, &p.Key.Number}
	if flags&flagBefore != 0 {
		numbers = append(numbers, &until)
	}
	for _, number := range numbers {
		if *number, n = binary.Varint(b); n <= 0 {
			return p, 0, 0, "", false
		}
		b = b[n:]
	}
	p.Order, p.Key.Missing, p.Key.Text = order, flags&flagMissing != 0, string(b)
	return p, from, until, sum, true
}

// Filter returns the filters on what the log contains about tasks: all except the reasons, the
// machines and the exit codes.
func (l List) Filter() task.Filter {
	f := task.Filter{Conditions: l.conditions(), Since: l.Since, Before: l.Before, From: l.From, Until: l.Until}
	if l.Not != nil {
		f.Not = new(l.Not.conditions())
	}
	return f
}

func (t *Tasks) conditions() task.Conditions {
	return task.Conditions{
		Phases: t.Phases, Name: t.Name, NamePrefix: t.NamePrefix, NameContains: t.NameContains, Labels: t.Labels,
		Annotations: t.Annotations, Points: t.Points, Group: t.Group, GPUs: t.GPUs,
	}
}

// An Answer is the encoded response for one page.
type Answer struct {
	task.Answer

	Total    int    // as in Page
	NextPage string // parameters of the next page, as the query of a URL; empty on the last page
}

// A Page describes one page of a list, without its tasks.
type Page struct {
	Total int    // tasks of the list, on all pages
	Next  string // cursor of the next page; empty on the last page
}
