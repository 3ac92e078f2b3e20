package chart

import (
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/storage"
)

// set declares a ClusterHandlerSet for Certificates, and waits until it is in
// force. spec is all of it but the resource.
func (b *bench) set(name, spec string) *v1alpha1.ClusterHandlerSet {
	b.Helper()
	s := &v1alpha1.ClusterHandlerSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &s.Spec); err != nil {
		b.Fatal(err)
	}
	s.Spec.Resource = v1alpha1.Resource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}
	if err := b.admin.Create(b.Context(), s); err != nil {
		b.Fatal(err)
	}
	b.awaitReady(s)
	return s
}

func (b *bench) newCertificate(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"secretName": name + "-tls", "dnsNames": []any{name + ".example.com"}, "issuerRef": map[string]any{"name": "ca"},
	}}}
	u.SetGroupVersionKind(certificateKind)
	u.SetNamespace(b.objects)
	u.SetName(name)
	return u
}

func (b *bench) certificate(name string) *unstructured.Unstructured {
	b.Helper()
	u := b.newCertificate(name)
	if err := b.admin.Create(b.Context(), u); err != nil {
		b.Fatal(err)
	}
	return u
}

// certificates creates n of them, called prefix-0 and so on.
func (b *bench) certificates(prefix string, n int) []*unstructured.Unstructured {
	b.Helper()
	all := make([]*unstructured.Unstructured, n)
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() {
			all[i] = b.newCertificate(fmt.Sprintf("%s-%d", prefix, i))
			if err := b.admin.Create(b.Context(), all[i]); err != nil {
				b.Error(err)
			}
		})
	}
	group.Wait()
	return all
}

func (b *bench) get(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	fresh := &unstructured.Unstructured{}
	fresh.SetGroupVersionKind(u.GroupVersionKind())
	return fresh, b.admin.Get(b.Context(), client.ObjectKeyFromObject(u), fresh)
}

func stateOf(u *unstructured.Unstructured) string {
	return u.GetAnnotations()[storage.ServicePrefix.Key(storage.KeyState)]
}

func holds(u *unstructured.Unstructured) bool {
	return slices.Contains(u.GetFinalizers(), storage.ServicePrefix.Finalizer())
}

// await waits for the state of objects.
func (b *bench) await(state string, all ...*unstructured.Unstructured) {
	b.Helper()
	for _, u := range all {
		b.eventually(func() error {
			fresh, err := b.get(u)
			if err == nil && stateOf(fresh) != state {
				err = fmt.Errorf("%s: state is %q, want %q; annotations %v", u.GetName(), stateOf(fresh), state, fresh.GetAnnotations())
			}
			return err
		})
	}
}
