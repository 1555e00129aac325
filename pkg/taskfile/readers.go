package taskfile

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s-cli/pkg/task"
)

// Readers of simple values. A reader never gets null as the value of a field, because null
// means that the field is absent.

// text stores any scalar as written.
func text(to *string) reader {
	return func(d *decoder, n *node) error {
		if n.kind != scalar {
			return d.wrong("must be a string, not %s", n.kind)
		}
		*to = n.text
		return nil
	}
}

// someText accepts any scalar.
func someText(d *decoder, n *node) error { return text(new(string))(d, n) }

// checked reads a value and then checks it.
func checked(read reader, check func() error) reader {
	return func(d *decoder, n *node) error {
		if err := read(d, n); err != nil {
			return err
		}
		if err := check(); err != nil {
			return d.wrong("%v", err)
		}
		return nil
	}
}

// optionalText stores a scalar. An empty text differs from an absent field.
func optionalText(to **string) reader {
	return func(d *decoder, n *node) error {
		*to = new(string)
		return text(*to)(d, n)
	}
}

// textList stores a list of scalars.
func textList(to *[]string) reader {
	return func(d *decoder, n *node) error {
		if n.kind != list {
			return d.wrong("must be a list, not %s", n.kind)
		}
		return d.items(n, func(item *node) error {
			*to = append(*to, "")
			return text(&(*to)[len(*to)-1])(d, item)
		})
	}
}

// textsOf stores a mapping of texts.
func textsOf(to *map[string]string) reader {
	return func(d *decoder, n *node) error {
		if n.kind != mapping {
			return d.wrong("must be a mapping of names to strings, not %s", n.kind)
		}
		return d.each(n, func(key string, value *node) error { return d.put(to, key, value) })
	}
}

// put stores one entry of a mapping of texts.
func (d *decoder) put(to *map[string]string, key string, value *node) error {
	var s string
	if err := text(&s)(d, value); err != nil {
		return err
	}
	if *to == nil {
		*to = map[string]string{}
	}
	(*to)[key] = s
	return nil
}

// items calls do for each item of n, with the path of the item.
func (d *decoder) items(n *node, do func(item *node) error) error {
	for i, item := range n.items {
		d.push("["+strconv.Itoa(i)+"]", item.line)
		err := do(item)
		d.pop()
		if err = d.diagnostics.record(err); err != nil {
			return err
		}
	}
	return nil
}

// mappingOf returns a reader for a mapping with the fields of s.
func mappingOf(s schema) reader {
	return func(d *decoder, n *node) error { return d.fields(n, s) }
}

// anything accepts every value.
func anything(*decoder, *node) error { return nil }

// mappingOfAny accepts every mapping.
func mappingOfAny(d *decoder, n *node) error {
	if n.kind != mapping {
		return d.wrong("must be a mapping, not %s", n.kind)
	}
	return nil
}

// truthOf stores a boolean.
func truthOf(to *bool) reader {
	return func(d *decoder, n *node) error {
		value, ok := truth(n.text)
		if n.kind != scalar || !ok {
			return d.wrong("%s is neither true nor false", n.quoted())
		}
		*to = value
		return nil
	}
}

// truth returns the boolean value of s. ok is false if s is not a boolean.
func truth(s string) (value, ok bool) {
	s = strings.ToLower(s)
	yes := slices.Contains([]string{"true", "t", "yes", "y", "on", "1"}, s)
	no := slices.Contains([]string{"false", "f", "no", "n", "off", "0"}, s)
	return yes, yes || no
}

// integer stores a whole number from low to high.
func integer(to *int, low, high int) reader {
	return func(d *decoder, n *node) error {
		value, ok := wholeNumber(n.text, low, high)
		if n.kind != scalar || !ok {
			return d.wrong("%s is not a whole number from %d to %d", n.quoted(), low, high)
		}
		*to = value
		return nil
	}
}

// The notations of whole numbers in YAML 1.1, which SkyPilot reads: 1_000, 0x10, 0b11, 010 and 1:30
// (https://yaml.org/type/int.html), and 0o7 of YAML 1.2.
var (
	basedForm       = regexp.MustCompile(`^[-+]?0(?:b[01_]+|x[0-9a-fA-F_]+|o?[0-7_]+)$`)
	underscoreForm  = regexp.MustCompile(`^[-+]?[1-9][0-9_]*$`)
	sexagesimalForm = regexp.MustCompile(`^[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+$`)
)

// decimal returns a whole number in decimal notation, and other texts unchanged.
func decimal(s string) string {
	plain := strings.TrimPrefix(strings.ReplaceAll(s, "_", ""), "+")
	switch {
	case basedForm.MatchString(s):
		if n, err := strconv.ParseInt(plain, 0, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
	case underscoreForm.MatchString(s):
		return plain
	case sexagesimalForm.MatchString(s):
		sum, sign := 0, 1
		if rest, negative := strings.CutPrefix(plain, "-"); negative {
			plain, sign = rest, -1
		}
		for part := range strings.SplitSeq(plain, ":") {
			n, err := strconv.Atoi(part)
			if err != nil || sum > math.MaxInt32 {
				return s
			}
			sum = 60*sum + n
		}
		return strconv.Itoa(sign * sum)
	}
	return s
}

var numberForm = regexp.MustCompile(`^-?[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?$`)

// wholeNumber parses a whole number in any notation: 2, 2.0 or 2e0, and those of YAML 1.1.
func wholeNumber(s string, low, high int) (int, bool) {
	s = decimal(s)
	if n, err := strconv.Atoi(s); err == nil && s[0] != '+' {
		return n, n >= low && n <= high
	}
	s = strings.TrimSpace(s)
	if !numberForm.MatchString(s) {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || f < float64(low) || f > float64(high) {
		return 0, false
	}
	return int(f), true
}

// quoted returns n for use in an error message.
func (n *node) quoted() string {
	if n.kind == scalar {
		return task.Quote(n.text)
	}
	return n.kind.String()
}
