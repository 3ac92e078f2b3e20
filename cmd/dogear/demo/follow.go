package demo

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// kinds are those that the demo's handlers work on.
var kinds = []schema.GroupVersionKind{
	{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"},
	{Version: "v1", Kind: "Service"},
}

// follow keeps the board up to date with what the user can see, by watching
// the objects' metadata, until ctx ends.
func (d *demo) follow(ctx context.Context, config *rest.Config) error {
	informers, err := cache.New(config, cache.Options{DefaultNamespaces: map[string]cache.Config{objectsNamespace: {}}})
	if err != nil {
		return fmt.Errorf("set up the watch: %w", err)
	}
	for _, kind := range kinds {
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(kind)
		informer, err := informers.GetInformer(ctx, m, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %s: %w", kind.Kind, err)
		}
		take := func(ended bool) func(any) {
			return func(found any) {
				if last, ok := found.(clientcache.DeletedFinalStateUnknown); ok {
					found = last.Obj
				}
				m, ok := found.(*metav1.PartialObjectMetadata)
				if !ok {
					return
				}
				m = m.DeepCopy()
				m.SetGroupVersionKind(kind)
				d.view.changed(d.board.observe(m, ended))
			}
		}
		_, err = informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
			AddFunc: take(false), UpdateFunc: func(_, now any) { take(false)(now) }, DeleteFunc: take(true),
		})
		if err != nil {
			return fmt.Errorf("watch %s: %w", kind.Kind, err)
		}
	}
	d.running.Go(func() { _ = informers.Start(ctx) }) // it ends without an error
	if !informers.WaitForCacheSync(ctx) {
		return fmt.Errorf("watch the objects: %w", context.Cause(ctx))
	}
	return nil
}
