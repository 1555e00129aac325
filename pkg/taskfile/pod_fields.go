package taskfile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s-cli/pkg/task"
)

// A shape checks a value of a Kubernetes type and returns it in the form of JSON: text,
// numbers, booleans, lists and mappings.
type shape func(d *decoder, n *node) (any, error)

// object returns the shape of a mapping with these fields. A field without a shape is an
// error, whatever its value. Null omits a field.
func object(fields map[string]shape) shape {
	return func(d *decoder, n *node) (any, error) {
		if n.kind != mapping {
			return nil, d.wrong("must be a mapping, not %s", n.kind)
		}
		all := map[string]any{}
		err := d.each(n, func(key string, value *node) error {
			read, known := fields[key]
			if !known {
				return d.wrong("cannot be set here; allowed are %s", strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
			}
			if value.kind == null {
				return nil
			}
			v, err := read(d, value)
			if err == nil && v != nil {
				all[key] = v
			}
			return err
		})
		return all, err
	}
}

// listOf returns the shape of a list. If key is not empty, every item must have a unique
// value of key, as Kubernetes requires.
func listOf(item shape, key string) shape {
	return func(d *decoder, n *node) (any, error) {
		if n.kind != list {
			return nil, d.wrong("must be a list, not %s", n.kind)
		}
		all, seen := []any{}, map[any]bool{}
		err := d.items(n, func(n *node) error {
			v, err := item(d, n)
			if err != nil {
				return err
			}
			if m, ok := v.(map[string]any); ok && key != "" {
				switch {
				case m[key] == nil:
					return d.wrong("has no %s", key)
				case seen[m[key]]:
					return d.wrong("duplicate %s %s", key, task.Quote(fmt.Sprint(m[key])))
				}
				seen[m[key]] = true
			}
			all = append(all, v)
			return nil
		})
		return all, err
	}
}

// textsBy returns the shape of a mapping of texts. check checks each entry.
func textsBy(check func(key, value string) error) shape {
	return func(d *decoder, n *node) (any, error) {
		if n.kind != mapping {
			return nil, d.wrong("must be a mapping of names to strings, not %s", n.kind)
		}
		if len(n.members) > task.MaxLabels {
			return nil, d.wrong("%d entries exceed the limit of %d", len(n.members), task.MaxLabels)
		}
		all := map[string]any{}
		err := d.each(n, func(key string, value *node) error {
			if value.kind != scalar {
				return d.wrong("must be a string, not %s", value.kind)
			}
			if err := check(key, value.text); err != nil {
				return d.wrong("%v", err)
			}
			all[key] = value.text
			return nil
		})
		return all, err
	}
}

// words returns the shape of a text that check accepts.
func words(check func(string) error) shape {
	return func(d *decoder, n *node) (any, error) {
		if n.kind != scalar {
			return nil, d.wrong("must be a string, not %s", n.kind)
		}
		if err := check(n.text); err != nil {
			return nil, d.wrong("%v", err)
		}
		return n.text, nil
	}
}

// oneOf returns the shape of a text that is one of all.
func oneOf(all ...string) shape {
	return words(func(s string) error {
		if !slices.Contains(all, s) {
			return fmt.Errorf("%s is not one of %s", task.Quote(s), strings.Join(all, ", "))
		}
		return nil
	})
}

// number returns the shape of a whole number from low to high.
func number(low, high int) shape {
	return func(d *decoder, n *node) (any, error) {
		var value int
		return value, integer(&value, low, high)(d, n)
	}
}

// boolean is the shape of true or false.
func boolean(d *decoder, n *node) (any, error) {
	var value bool
	err := truthOf(&value)(d, n)
	return value, err
}

// notTrue returns the shape of a boolean that must not be true.
func notTrue(reason string) shape {
	return func(d *decoder, n *node) (any, error) {
		value, err := boolean(d, n)
		if err == nil && value == true {
			return nil, d.wrong("%s", reason)
		}
		return value, err
	}
}

// never returns the shape of a value that must not be set.
func never(reason string) shape {
	return func(d *decoder, n *node) (any, error) {
		if n.isSet() {
			return nil, d.wrong("%s", reason)
		}
		return nil, nil
	}
}

// with returns the shape of an object that check accepts as a whole.
func with(object shape, check func(map[string]any) error) shape {
	return func(d *decoder, n *node) (any, error) {
		v, err := object(d, n)
		if err != nil || d.diagnostics.wrong() {
			return v, err
		}
		if err := check(v.(map[string]any)); err != nil {
			return nil, d.wrong("%v", err)
		}
		return v, nil
	}
}

var (
	subdomainForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	dnsLabelForm  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	sizeForm      = regexp.MustCompile(`^[1-9][0-9]{0,11}(Ki|Mi|Gi|Ti|k|M|G|T)?$`)
	extendedForm  = regexp.MustCompile(`^[a-z0-9.-]{1,200}/[A-Za-z0-9._-]{1,63}$`)
)

func objectName(s string) error {
	if len(s) > 253 || !subdomainForm.MatchString(s) {
		return fmt.Errorf("%s is not a valid name of a Kubernetes object", task.Quote(s))
	}
	return nil
}

func volumeName(s string) error {
	if len(s) > 63 || !dnsLabelForm.MatchString(s) {
		return fmt.Errorf("%s must be lower-case letters, digits and - (not at the ends), at most 63 characters", task.Quote(s))
	}
	if s == "scripts" || s == "uploads" || strings.HasPrefix(s, "volume-") || strings.HasPrefix(s, "ephemeral-") {
		return fmt.Errorf("volume name %s is reserved for k8s-cli; choose another name", task.Quote(s))
	}
	return nil
}

func quantityOfBytes(s string) error {
	if !sizeForm.MatchString(s) {
		return fmt.Errorf("%s is not a size, for example 16Gi", task.Quote(s))
	}
	return nil
}
