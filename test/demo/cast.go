package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// An event is a part of the output of the session.
type event struct {
	at   time.Duration // since the begin of the session
	text string
}

// A header is the first line of a recording in the format of asciinema, version 2.
type header struct {
	Version int    `json:"version"`
	Width   int    `json:"width"`
	Height  int    `json:"height"`
	Title   string `json:"title"`
}

// encodeCast returns a recording in the format of asciinema.
func encodeCast(title string, events []event) ([]byte, error) {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(header{2, columns, rows, title}); err != nil {
		return nil, err
	}
	for _, e := range events {
		if err := lines.Encode([]any{math.Round(e.at.Seconds()*1000) / 1000, "o", e.text}); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// decodeCast returns the title and the events of a recording.
func decodeCast(cast []byte) (string, []event, error) {
	lines := json.NewDecoder(bytes.NewReader(cast))
	var h header
	if err := lines.Decode(&h); err != nil {
		return "", nil, fmt.Errorf("read the header of the recording: %w", err)
	}
	if h.Version != 2 || h.Width != columns || h.Height != rows {
		return "", nil, fmt.Errorf("the recording has version %d and %dx%d characters, want version 2 and %dx%d", h.Version, h.Width, h.Height, columns, rows)
	}
	var events []event
	for lines.More() {
		var e event
		var seconds float64
		var kind string
		if err := lines.Decode(&[]any{&seconds, &kind, &e.text}); err != nil {
			return "", nil, fmt.Errorf("read event %d of the recording: %w", len(events)+1, err)
		}
		e.at = time.Duration(math.Round(seconds*1000)) * time.Millisecond
		events = append(events, e)
	}
	return h.Title, events, nil
}

// shorten limits the pauses between events, and joins events that are less than a frame
// apart.
func shorten(events []event, pause, frame time.Duration) (short []event) {
	var last, now time.Duration // the time of the previous event before and after the change
	for _, e := range events {
		now += min(e.at-last, pause)
		last = e.at
		if n := len(short); n > 0 && now-short[n-1].at < frame {
			short[n-1].text += e.text
			continue
		}
		short = append(short, event{now, e.text})
	}
	return short
}
