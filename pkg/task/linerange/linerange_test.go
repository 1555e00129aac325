package linerange_test

import (
	"reflect"
	"strings"
	"testing"

	"k8s-cli/pkg/task/linerange"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		text string
		want linerange.Range
		err  string
	}{
		{"1-100", linerange.Range{First: 1, Last: 100}, ""},
		{"7-7", linerange.Range{First: 7, Last: 7}, ""},
		{"101-", linerange.Range{First: 101, Last: linerange.End}, ""},
		{"5-99999999", linerange.Range{First: 5, Last: 99999999}, ""},
		{"-100", linerange.Range{Tail: 100}, ""},
		{"9-8", linerange.Range{}, `lines: "9-8" ends before it begins`},
		{"", linerange.Range{}, `lines: "" is not a range of lines`},
		{"-", linerange.Range{}, "is not a range"},
		{"7", linerange.Range{}, "is not a range"},
		{"0-7", linerange.Range{}, "is not a range"},
		{"-0", linerange.Range{}, "is not a range"},
		{"--7", linerange.Range{}, "is not a range"},
		{"1-2-3", linerange.Range{}, "is not a range"},
		{"+1-2", linerange.Range{}, "is not a range"},
		{"1-9223372036854775807", linerange.Range{}, "is not a range"},
	} {
		got, err := linerange.Parse(tt.text)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: %+v, %v", tt.text, got, err)
		}
		if err == nil && got.String() != tt.text {
			t.Errorf("%q has the text %q", tt.text, got)
		}
	}
}

func TestPage(t *testing.T) {
	for text, want := range map[string]string{
		"1-100": "1-100", "101-": "101-10100", "5-10004": "5-10004", "5-10005": "5-10004", "-100": "-100", "-20000": "-10000",
	} {
		r, err := linerange.Parse(text)
		if got := r.Page().String(); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestHeader(t *testing.T) {
	for want, part := range map[string]linerange.Part{
		"1-100/2000": {First: 1, Last: 100, Total: 2000},
		"1-100/*":    {First: 1, Last: 100, Total: linerange.Unknown},
		"*/2000":     {Total: 2000},
		"*/0":        {},
	} {
		if got := part.String(); got != want {
			t.Errorf("%+v: %s, want %s", part, got, want)
		}
		if got, err := linerange.ParsePart(want, nil); err != nil || !reflect.DeepEqual(got, part) {
			t.Errorf("%s: %+v, %v, want %+v", want, got, err, part)
		}
	}
	for _, wrong := range []string{"", "1-2", "-2/7", "2-/7", "1-2/", "1-2/x", "2-1/7", "/7"} {
		if got, err := linerange.ParsePart(wrong, nil); err == nil {
			t.Errorf("%q: %+v, want an error", wrong, got)
		}
	}
}
