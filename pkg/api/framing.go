package api

import (
	"bytes"

	"k8s-cli/pkg/task"
)

var (
	lengthName = []byte("Content-Length")
	codingName = []byte("Transfer-Encoding")
	chunked    = []byte("chunked")
)

var (
	errTwoEnds = task.Error(task.ErrUnreadable, "the head says in two ways where the body ends: send one Content-Length, or Transfer-Encoding: chunked alone")
	errTrailer = task.Error(task.ErrUnreadable, "the body has a trailer, which is not read: send what it says in the head")
)

// oneEnd refuses a head by which a proxy and this server could find different
// ends of the body: what one takes for its rest would be a request of its own to
// the other, in whose name its sender likes.
func oneEnd(head []byte) error {
	said := 0
	for len(head) > 0 {
		line := head
		if end := bytes.IndexByte(head, '\n'); end >= 0 {
			line, head = head[:end], head[end+1:]
		} else {
			head = nil
		}
		colon := bytes.IndexByte(line, ':')
		switch {
		case colon == len(lengthName) && bytes.EqualFold(line[:colon], lengthName):
			said++
		case colon == len(codingName) && bytes.EqualFold(line[:colon], codingName):
			if said++; !bytes.EqualFold(bytes.TrimSpace(line[colon+1:]), chunked) {
				return errTwoEnds
			}
		}
	}
	if said > 1 {
		return errTwoEnds
	}
	return nil
}
