package sets

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// namespaceObject is what of namespaces is kept: their metadata.
func namespaceObject() *metav1.PartialObjectMetadata {
	n := &metav1.PartialObjectMetadata{}
	n.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return n
}

// listenToNamespaces has the objects of a namespace looked at again when its
// labels have changed: it may be selected now.
func (s *Service) listenToNamespaces(ctx context.Context, m manager.Manager) error {
	informer, err := m.GetCache().GetInformer(ctx, namespaceObject())
	if err != nil {
		return fmt.Errorf("watch namespaces: %w", err)
	}
	wake := func(name string) {
		if err := s.op.Wake(ctx, name); err != nil && ctx.Err() == nil {
			s.log.Error(err, "The objects of a namespace could not be looked at again", "namespace", name)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			if n, ok := object.(*metav1.PartialObjectMetadata); ok && !initial {
				wake(n.Name)
			}
		},
		UpdateFunc: func(before, after any) {
			old, _ := before.(*metav1.PartialObjectMetadata)
			if n, ok := after.(*metav1.PartialObjectMetadata); ok && old != nil && !maps.Equal(old.Labels, n.Labels) {
				wake(n.Name)
			}
		},
	})
	return err
}

// namespace is the namespace that expressions see: its metadata; nil where it
// is not known.
func (s *Service) namespace(name string) (map[string]any, error) {
	if s.confined() {
		return nil, nil
	}
	n := namespaceObject()
	if err := s.cached.Get(context.Background(), client.ObjectKey{Name: name}, n); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, err
	}
	text := func(m map[string]string) map[string]any {
		out := map[string]any{}
		for key, value := range m {
			out[key] = value
		}
		return out
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": n.Name, "labels": text(n.Labels), "annotations": text(n.Annotations)},
	}, nil
}
