package listwatch

import (
	"bytes"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A pruningNegotiator is a NegotiatedSerializer whose protobuf serializer prunes.
type pruningNegotiator struct{ runtime.NegotiatedSerializer }

// SupportedMediaTypes returns the media types of client-go. Objects in JSON are not pruned.
func (n pruningNegotiator) SupportedMediaTypes() []runtime.SerializerInfo {
	all := slices.Clone(n.NegotiatedSerializer.SupportedMediaTypes())
	for i := range all {
		if all[i].MediaType == runtime.ContentTypeProtobuf {
			all[i].Serializer = pruningSerializer{all[i].Serializer}
		}
	}
	return all
}

// A pruningSerializer prunes objects before it decodes them.
type pruningSerializer struct{ runtime.Serializer }

// Decode decodes an object. If an object cannot be pruned, the wrapped serializer decodes it
// unpruned or reports the error.
func (s pruningSerializer) Decode(data []byte, kind *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	return s.Serializer.Decode(prune(data), kind, into)
}

// An encoded object is a prefix followed by a runtime.Unknown.
var (
	prefix       = []byte{'k', '8', 's', 0}
	envelopeMask = fieldMask{unknownRaw: nil}
	masks        = map[schema.GroupVersionKind]fieldMask{
		batchv1.SchemeGroupVersion.WithKind("Job"): {unknownRaw: jobMask},
		corev1.SchemeGroupVersion.WithKind("Pod"):  {unknownRaw: podMask},
	}
)

// prune returns an encoded object without the fields that the store does not read.
func prune(data []byte) []byte {
	message, ok := bytes.CutPrefix(data, prefix)
	if !ok {
		return data
	}
	envelope, ok := envelopeMask.prune(nil, message)
	if !ok {
		return data
	}
	var what runtime.Unknown
	if err := what.Unmarshal(envelope); err != nil {
		return data
	}
	fields := masks[what.GroupVersionKind()]
	if fields == nil {
		return data
	}
	out, ok := fields.prune(append(make([]byte, 0, len(data)), prefix...), message)
	if !ok {
		return data
	}
	return out
}
