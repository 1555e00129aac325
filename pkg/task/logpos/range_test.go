package logpos_test

import (
	"reflect"
	"strings"
	"testing"

	"k8s-cli/pkg/task/logpos"
)

func TestParseRange(t *testing.T) {
	for _, tt := range []struct {
		text string
		want logpos.Range
		err  string
	}{
		{"1-100", logpos.Range{First: 1, Last: 100}, ""},
		{"7-7", logpos.Range{First: 7, Last: 7}, ""},
		{"101-", logpos.Range{First: 101, Last: logpos.End}, ""},
		{"5-99999999", logpos.Range{First: 5, Last: 99999999}, ""},
		{"-100", logpos.Range{Tail: 100}, ""},
		{"9-8", logpos.Range{}, `lines: "9-8" ends before it begins`},
		{"", logpos.Range{}, `lines: "" is not a range of lines`},
		{"-", logpos.Range{}, "is not a range"},
		{"7", logpos.Range{}, "is not a range"},
		{"0-7", logpos.Range{}, "is not a range"},
		{"-0", logpos.Range{}, "is not a range"},
		{"--7", logpos.Range{}, "is not a range"},
		{"1-2-3", logpos.Range{}, "is not a range"},
		{"+1-2", logpos.Range{}, "is not a range"},
		{"1-9223372036854775807", logpos.Range{}, "is not a range"},
	} {
		got, err := logpos.ParseRange(tt.text)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: %+v, %v", tt.text, got, err)
		}
		if err == nil && got.String() != tt.text {
			t.Errorf("%q has the text %q", tt.text, got)
		}
	}
}

func TestPageOfARange(t *testing.T) {
	for text, want := range map[string]string{
		"1-100": "1-100", "101-": "101-10100", "5-10004": "5-10004", "5-10005": "5-10004", "-100": "-100", "-20000": "-10000",
	} {
		r, err := logpos.ParseRange(text)
		if got := r.Page().String(); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestPartInTheHeader(t *testing.T) {
	for want, part := range map[string]logpos.Part{
		"1-100/2000": {First: 1, Last: 100, Total: 2000},
		"1-100/*":    {First: 1, Last: 100, Total: logpos.Unknown},
		"*/2000":     {Total: 2000},
		"*/0":        {},
	} {
		if got := part.String(); got != want {
			t.Errorf("%+v: %s, want %s", part, got, want)
		}
		if got, err := logpos.ParsePart(want, nil); err != nil || !reflect.DeepEqual(got, part) {
			t.Errorf("%s: %+v, %v, want %+v", want, got, err, part)
		}
	}
	for _, wrong := range []string{"", "1-2", "-2/7", "2-/7", "1-2/", "1-2/x", "2-1/7", "/7"} {
		if got, err := logpos.ParsePart(wrong, nil); err == nil {
			t.Errorf("%q: %+v, want an error", wrong, got)
		}
	}
}
