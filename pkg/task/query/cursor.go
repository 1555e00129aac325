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
	if t.Since != "" {
		from, err := ParseSince(t.Since, now)
		if err != nil {
			return l, invalid(paramSince, err)
		}
		l.From = from
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
	for _, text := range []string{user, l.Name, l.NamePrefix, l.NameContains, l.Since, l.Group, field} {
		b = append(strconv.AppendQuote(b, text), ' ')
	}
	b = appendSet(appendSet(appendSet(appendSet(b, l.Phases), l.Labels), l.Annotations), l.Reasons)
	return strconv.AppendBool(append(strconv.AppendBool(b, all), ' '), descending)
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
	for _, number := range []int64{l.From.UnixNano(), int64(l.Limit), int64(l.Offset)} {
		b = strconv.AppendInt(append(b, ' '), number, 10)
	}
	return string(strconv.AppendQuote(strconv.AppendQuote(append(b, ' '), l.Cursor), string(l.View)))
}

// A cursor holds, in this order: the version, the fingerprint of the list, whether the key is
// missing, and as varints the number of the submission, the meaning of since and the number of
// the key. The text of the key is the rest.
const (
	cursorVersion = 1
	fingerprint   = 6 // bytes
)

// NextCursor returns the cursor of the page after a position.
func (l List) NextCursor(p Position) string {
	b := []byte{cursorVersion}
	b = append(b, l.fingerprint()...)
	missing := byte(0)
	if p.Key.Missing {
		missing = 1
	}
	b = binary.AppendUvarint(append(b, missing), p.Order)
	from := int64(0)
	if !l.From.IsZero() {
		from = l.From.Unix()
	}
	b = binary.AppendVarint(binary.AppendVarint(b, from), p.Key.Number)
	return base64.RawURLEncoding.EncodeToString(append(b, p.Key.Text...))
}

func (l List) fingerprint() []byte {
	sum := sha256.Sum256(l.appendIdentity(nil))
	return sum[:fingerprint]
}

// readCursor sets the position and the meaning of since from the cursor.
func (l *List) readCursor() error {
	p, from, sum, ok := decodeCursor(l.Cursor)
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
	return nil
}

func decodeCursor(text string) (p Position, from int64, sum string, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < 2+fingerprint || b[0] != cursorVersion || b[1+fingerprint] > 1 {
		return p, 0, "", false
	}
	sum = string(b[1 : 1+fingerprint])
	p.Key.Missing = b[1+fingerprint] == 1
	b = b[2+fingerprint:]
	order, n := binary.Uvarint(b)
	if n <= 0 || order == 0 {
		return p, 0, "", false
	}
	b = b[n:]
	numbers := [2]int64{}
	for i := range numbers {
		if numbers[i], n = binary.Varint(b); n <= 0 {
			return p, 0, "", false
		}
		b = b[n:]
	}
	p.Order, p.Key.Number, p.Key.Text = order, numbers[1], string(b)
	return p, numbers[0], sum, true
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
