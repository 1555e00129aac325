package lean

import (
	"bytes"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A negotiated is all that a client reads and writes with, one of which prunes.
type negotiated struct{ runtime.NegotiatedSerializer }

// SupportedMediaTypes returns what client-go supports. What it reads as JSON is
// not pruned.
func (n negotiated) SupportedMediaTypes() []runtime.SerializerInfo {
	all := slices.Clone(n.NegotiatedSerializer.SupportedMediaTypes())
	for i := range all {
		if all[i].MediaType == runtime.ContentTypeProtobuf {
			all[i].Serializer = serializer{all[i].Serializer}
		}
	}
	return all
}

// A serializer prunes what it reads.
type serializer struct{ runtime.Serializer }

// Decode reads an object. What it cannot prune it leaves to the serializer behind
// it, which says what is wrong.
func (s serializer) Decode(data []byte, kind *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	return s.Serializer.Decode(pruned(data), kind, into)
}

// An object is a runtime.Unknown behind a prefix.
var (
	prefix  = []byte{'k', '8', 's', 0}
	outside = omitted{unknownRaw: nil}
	dropped = map[schema.GroupVersionKind]omitted{
		batchv1.SchemeGroupVersion.WithKind("Job"): {unknownRaw: job},
		corev1.SchemeGroupVersion.WithKind("Pod"):  {unknownRaw: pod},
	}
)

// pruned returns an object without what nobody looks at.
func pruned(data []byte) []byte {
	message, ok := bytes.CutPrefix(data, prefix)
	if !ok {
		return data
	}
	envelope, ok := outside.prune(nil, message)
	if !ok {
		return data
	}
	var what runtime.Unknown
	if err := what.Unmarshal(envelope); err != nil {
		return data
	}
	fields := dropped[what.GroupVersionKind()]
	if fields == nil {
		return data
	}
	out, ok := fields.prune(append(make([]byte, 0, len(data)), prefix...), message)
	if !ok {
		return data
	}
	return out
}
