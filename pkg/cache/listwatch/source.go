package listwatch

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// A Source lists and watches the objects of one kind.
type Source[O any] struct {
	// List calls each for every object, or for every object of a page.
	List  func(ctx context.Context, options metav1.ListOptions, each func(O)) (metav1.ListMeta, error)
	Watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// SourceOf returns a source that uses the List and Watch of a typed client.
func SourceOf[O, L runtime.Object](
	list func(context.Context, metav1.ListOptions) (L, error),
	follow func(context.Context, metav1.ListOptions) (watch.Interface, error),
) Source[O] {
	return Source[O]{Watch: follow, List: func(ctx context.Context, options metav1.ListOptions, each func(O)) (about metav1.ListMeta, err error) {
		objects, err := list(ctx, options)
		if err != nil {
			return about, err
		}
		got, err := meta.ListAccessor(objects)
		if err != nil {
			return about, fmt.Errorf("list: %w", err)
		}
		about.ResourceVersion, about.Continue = got.GetResourceVersion(), got.GetContinue()
		return about, meta.EachListItem(objects, func(obj runtime.Object) error {
			if o, ok := obj.(O); ok {
				each(o)
			}
			return nil
		})
	}}
}
