package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/bench/subject"
)

var certificates = schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}

// namePrefix begins the names of all objects; their number follows.
const namePrefix = "object-"

// body is a Certificate such as people write.
func body(contender string, i int) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"cert-manager.io/v1","kind":"Certificate","metadata":{"name":"%[1]s%[2]d","namespace":"%[3]s",`+
		`"labels":{"`+subject.Label+`":"%[4]s","app.kubernetes.io/name":"shop","app.kubernetes.io/instance":"shop-%[2]d","app.kubernetes.io/managed-by":"bench"},`+
		`"annotations":{"example.com/owner":"team-%[2]d","example.com/ticket":"SHOP-%[2]d"}},`+
		`"spec":{"secretName":"shop-%[2]d-tls","commonName":"shop-%[2]d.example.com",`+
		`"dnsNames":["shop-%[2]d.example.com","www.shop-%[2]d.example.com","api.shop-%[2]d.example.com"],`+
		`"duration":"2160h0m0s","renewBefore":"360h0m0s","usages":["digital signature","key encipherment","server auth"],`+
		`"privateKey":{"algorithm":"ECDSA","size":256,"rotationPolicy":"Always"},`+
		`"subject":{"organizations":["Example"]},"issuerRef":{"name":"ca","kind":"ClusterIssuer","group":"cert-manager.io"}}}`,
		namePrefix, i, namespaceOf(contender), contender)
}

const mergePatch = "application/merge-patch+json"

// send makes one request about certificates, with as little work as possible:
// the driver shares the machine with what it measures.
func (b *bench) send(ctx context.Context, method, namespace, name, query, contentType string, content []byte) error {
	url := b.cp.URL() + "/apis/cert-manager.io/v1/namespaces/" + namespace + "/certificates"
	if name != "" {
		url += "/" + name
	}
	request, err := http.NewRequestWithContext(ctx, method, url+query, bytes.NewReader(content))
	if err != nil {
		return err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	request.Header.Set("Accept", "application/json")
	response, err := b.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return fmt.Errorf("%s %s/%s: %s: %s", method, namespace, name, response.Status, text)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

func (b *bench) create(ctx context.Context, contender string, i int) error {
	return b.post(ctx, namespaceOf(contender), body(contender, i))
}

func (b *bench) post(ctx context.Context, namespace string, object []byte) error {
	return b.send(ctx, http.MethodPost, namespace, "", "", "application/json", object)
}

func (b *bench) patch(ctx context.Context, namespace string, i int, patch string) error {
	return b.send(ctx, http.MethodPatch, namespace, namePrefix+strconv.Itoa(i), "", mergePatch, []byte(patch))
}

func (b *bench) delete(ctx context.Context, namespace string, i int) error {
	return b.send(ctx, http.MethodDelete, namespace, namePrefix+strconv.Itoa(i), "", "", nil)
}

// change changes the spec of an object; turn makes it another each time.
func (b *bench) change(ctx context.Context, namespace string, i, turn int) error {
	return b.patch(ctx, namespace, i, fmt.Sprintf(`{"spec":{"commonName":"turn-%d.shop-%d.example.com"}}`, turn, i))
}

// each calls do for 0 to n-1, so many at the same time.
func each(ctx context.Context, n, atOnce int, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(n, atOnce) {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := do(ctx, i); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

// paced calls do for 0 to n-1 at a rate, whether or not the earlier calls have
// ended: who is slow does not get less to do.
func paced(ctx context.Context, n int, rate float64, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for i := range n {
		at := began.Add(time.Duration(float64(i) / rate * float64(time.Second)))
		select {
		case <-ctx.Done():
			return group.Wait()
		case <-time.After(time.Until(at)):
		}
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

// clear deletes all objects in a namespace and waits until they are gone.
func (b *bench) clear(ctx context.Context, namespace string) error {
	if err := b.send(ctx, http.MethodDelete, namespace, "", "", "", nil); err != nil {
		return err
	}
	return eventually(ctx, askEvery, func() error {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(certificates.GroupVersion().WithKind("CertificateList"))
		if err := b.admin.List(ctx, list, client.InNamespace(namespace), client.Limit(1)); err != nil {
			return err
		}
		if len(list.Items) > 0 {
			return fmt.Errorf("objects are left in %s", namespace)
		}
		return nil
	})
}
