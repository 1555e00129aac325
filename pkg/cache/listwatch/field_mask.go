package listwatch

import "google.golang.org/protobuf/encoding/protowire"

// A fieldMask names the fields of a protobuf message to remove, by field number. A field with
// a nil mask is removed as a whole; of a field with a mask, the fields in that mask are
// removed.
type fieldMask map[protowire.Number]fieldMask

// prune appends a message without the masked fields to out; ok is false if the message cannot
// be parsed.
//
// The length of a pruned field takes as many bytes as before, although fewer would do. prune
// can therefore write the message in one pass, and every decoder accepts the longer varint.
func (f fieldMask) prune(out, message []byte) (_ []byte, ok bool) {
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return nil, false
		}
		size := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if size < 0 {
			return nil, false
		}
		field := message[:tag+size]
		message = message[len(field):]
		inner, named := f[number]
		switch {
		case named && inner == nil:
			continue
		case !named, kind != protowire.BytesType:
			out = append(out, field...)
			continue
		}
		value, _ := protowire.ConsumeBytes(field[tag:])
		out = append(out, field[:len(field)-len(value)]...)
		begin := len(out)
		if out, ok = inner.prune(out, value); !ok {
			return nil, false
		}
		putLength(out[begin-size+len(value):begin], len(out)-begin)
	}
	return out, true
}

// putLength writes length as a varint of exactly len(to) bytes.
func putLength(to []byte, length int) {
	for i := range to {
		to[i] = byte(length>>(7*i))&0x7f | 0x80
	}
	to[len(to)-1] &^= 0x80
}

// The masks of Jobs and pods. The numbers are the field numbers in generated.proto of
// k8s.io/api and k8s.io/apimachinery.
var (
	metadataMask = fieldMask{17: nil} // managedFields

	containerMask = fieldMask{
		3: nil, 4: nil, // command, args
		7: nil, 19: nil, // env, envFrom
		9: nil, // volumeMounts
	}
	jobMask = fieldMask{1: metadataMask, 2: {
		4: nil, 6: nil, // selector, template
		11: nil, // podFailurePolicy
	}}
	podMask = fieldMask{1: metadataMask, 2: {
		1: nil,                    // volumes
		2: containerMask, 20: nil, // initContainers
	}}
)
