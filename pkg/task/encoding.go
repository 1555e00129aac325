package task

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The bytes of the log. They are written by encoding/json and read by its
// successor, which takes a fraction of the time; what a release wrote is never
// written otherwise again, since hashes of it are in the cluster.

// readable has the successor read all that the predecessor does, but for names
// in other case.
var readable = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Marshal is json.Marshal without its escapes for HTML, which would make six
// bytes of each <, > and & of a script.
func Marshal(v any) ([]byte, error) {
	b, _ := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.Clone(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// buffers are for what is kept in its own size once that is known.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// Encode returns the line of the log for c.
func (c Command) Encode() ([]byte, error) {
	raw, err := Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode a command: %w", err)
	}
	return raw, nil
}

// DecodeCommand reads a line of the log. The error is ErrUnknownCommand if this
// version does not know what the line says.
func DecodeCommand(raw []byte) (Command, error) {
	var c Command
	if err := jsonv2.Unmarshal(raw, &c, readable, jsonv2.RejectUnknownMembers(true)); err != nil {
		return Command{}, fmt.Errorf("%w: %w", ErrUnknownCommand, err)
	}
	if c == (Command{}) {
		return Command{}, ErrUnknownCommand
	}
	return c, nil
}

// Encode returns the bytes of e, whose commands are encoded already.
func (e Entry) Encode() ([]byte, error) {
	commands := e.Commands
	e.Commands = nil
	raw, err := Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode an entry of the log: %w", err)
	}
	if len(commands) == 0 {
		return raw, nil
	}
	size := len(raw) + len(commandsField) + len("]}")
	for _, c := range commands {
		size += len(c) + len(",")
	}
	all := append(make([]byte, 0, size), bytes.TrimSuffix(raw, []byte("}"))...)
	all = append(all, commandsField...)
	for i, c := range commands {
		if i > 0 {
			all = append(all, ',')
		}
		all = append(all, c...)
	}
	return append(all, "]}"...), nil
}

const commandsField = `,"commands":[`

// DecodeEntry reads what Encode returned. The error is ErrUnknownCommand.
func DecodeEntry(raw []byte) (Entry, error) {
	var e struct {
		Entry
		Commands []jsontext.Value `json:"commands"`
	}
	if err := jsonv2.Unmarshal(raw, &e, readable); err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrUnknownCommand, err)
	}
	for _, c := range e.Commands {
		e.Entry.Commands = append(e.Entry.Commands, json.RawMessage(c))
	}
	return e.Entry, nil
}

// Hash names a submission by its content, as an annotation of its Jobs: a Job
// of the same name with another hash is not ours. It hashes what the user asked
// for, not the objects built from it, which change with defaults and versions.
func (s Submit) Hash() string { return hash(s) }

// SubmissionHash is the Hash of the submission in a line of the log, if that is
// one, without encoding it once more.
func SubmissionHash(raw []byte) (hash string, ok bool) {
	raw, begins := bytes.CutPrefix(raw, []byte(`{"submit":`))
	raw, ends := bytes.CutSuffix(raw, []byte("}"))
	return sumOf(raw), begins && ends
}

// Hash names a creation by its content, as an annotation of its claim.
func (c Create) Hash() string { return hash(c) }

// Body names what the caller sent, whatever the server chose for it: a repeated
// Idempotency-Key has to come with the same one.
func (s Submit) Body() string {
	if s.SecretsMAC == "" {
		return hash(s.Task)
	}
	return hash(struct {
		Spec           Spec
		SnapshotMarker string
	}{s.Task, s.SecretsMAC})
}

// Body names what the caller sent, as Submit's does.
func (c Create) Body() string { return hash(c.Volume) }

func hash(v any) string {
	raw, _ := Marshal(v) // plain structs of strings and numbers: cannot fail
	return sumOf(raw)
}

func sumOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}
