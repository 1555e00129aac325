package task

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The encoding of the log. Package encoding/json writes the log, and its successor reads
// the log, which is several times faster. The encoding of existing types never changes,
// because annotations in the cluster contain hashes of it.

// readable makes the successor accept what encoding/json accepts, except names in another
// case.
var readable = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Marshal is json.Marshal without HTML escapes, which would take six bytes for each <, >
// and & of a script.
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

// buffers holds scratch buffers; Marshal returns a copy of exact size.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// Encode returns c in the encoding of the log.
func (c Command) Encode() ([]byte, error) {
	raw, err := Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode a command: %w", err)
	}
	return raw, nil
}

// DecodeCommand decodes a command or a fact. The error is ErrUnknownCommand if this release
// does not know the command.
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

// Encode returns the encoding of e. The commands of e are already encoded.
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

// DecodeEntry decodes an entry. The error is ErrUnknownCommand.
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

// Hash returns the hash of a submission, which is an annotation of its Jobs. A Job with the
// right name and another hash belongs to another submission. Hash covers the request and
// not the generated objects, because generated objects change with defaults and releases.
func (s Submit) Hash() string { return hash(s) }

// SubmissionHash returns the Hash of the submission in an encoded command without encoding
// it again. ok is false if the command is not a submission.
func SubmissionHash(raw []byte) (hash string, ok bool) {
	raw, begins := bytes.CutPrefix(raw, []byte(`{"submit":`))
	raw, ends := bytes.CutSuffix(raw, []byte("}"))
	return sumOf(raw), begins && ends
}

// Hash returns the hash of a creation, which is an annotation of its claim.
func (c Create) Hash() string { return hash(c) }

// Body returns a hash of the request without the choices of the server. Requests with the
// same Idempotency-Key must have the same Body.
func (s Submit) Body() string {
	if s.SecretsMAC == "" && s.Group == "" && len(s.After)+len(s.AfterAny) == 0 && s.JobGroup == nil {
		return hash(s.Task)
	}
	members := s.JobGroup
	if members != nil {
		members = new(*members)
		members.ID = ""
	}
	return hash(struct {
		Spec       Spec     `json:"Task"` // the keys that the hashes of stored submissions have
		SecretsMAC string   `json:"Mark"`
		Group      string   `json:",omitempty"`
		After      []string `json:"after,omitempty"`
		AfterAny   []string `json:"after_any,omitempty"`

		JobGroup *JobGroup `json:"job_group,omitempty"`
	}{s.Task, s.SecretsMAC, s.Group, s.After, s.AfterAny, members})
}

// Body identifies the request, like the Body of a Submit.
func (s Stop) Body() string { return "stop " + s.ID }

// Body identifies the request, like the Body of a Submit.
func (s StopAll) Body() string {
	body := fmt.Sprintf("stop-all users=%t %s", s.AllUsers, s.Group)
	if s.Filter == nil {
		return body
	}
	given := *s.Filter
	given.From, given.Until = time.Time{}, time.Time{} // an age means another time when the request is repeated
	return body + " " + hash(given)
}

// Body identifies the request, like the Body of a Submit.
func (d Delete) Body() string { return fmt.Sprintf("delete force=%t %s", d.Force, d.ID) }

// Body returns a hash of the request, like the Body of a Submit.
func (c Create) Body() string { return hash(c.Volume) }

func hash(v any) string {
	raw, _ := Marshal(v) // structs of strings and numbers always encode
	return sumOf(raw)
}

func sumOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}
