package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// A want is the right answer to an attack.
type want struct {
	text  string
	holds func(answer) bool
}

// codes accepts one of these status codes.
func codes(all ...int) want {
	return want{"the code " + strings.Trim(fmt.Sprint(all), "[]"), func(a answer) bool { return slices.Contains(all, a.code) }}
}

// The right answers to most attacks.
var (
	works        = codes(200)
	unauthorized = codes(401)
	forbidden    = codes(403)
	invalid      = codes(400, 422)
)

// closed accepts one of these status codes, if there is exactly one answer and the server
// closes the connection.
func closed(all ...int) want {
	code := codes(all...)
	return want{code.text + ", once, and the end of the connection", func(a answer) bool {
		return code.holds(a) && a.answers == 1 && a.closed
	}}
}

// without accepts an answer that contains none of these texts and that other accepts.
func without(other want, texts ...string) want {
	return want{fmt.Sprintf("%s, and nowhere in it %q", other.text, texts), func(a answer) bool {
		for _, text := range texts {
			if bytes.Contains(a.raw, []byte(text)) {
				return false
			}
		}
		return other.holds(a)
	}}
}

// showing accepts an answer whose body contains text and that other accepts.
func showing(other want, text string) want {
	return want{fmt.Sprintf("%s, with %q", other.text, text), func(a answer) bool {
		return other.holds(a) && bytes.Contains(a.body, []byte(text))
	}}
}
