package node

import (
	"context"
	"maps"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// secret reads the data of a Secret: none if it is optional and missing.
func (w *worker) secret(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	object := &corev1.Secret{}
	err := w.read(ctx, name, optional, object)
	return object.Data, err
}

// configMap reads the data of a ConfigMap: none if it is optional and missing.
func (w *worker) configMap(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	object := &corev1.ConfigMap{}
	err := w.read(ctx, name, optional, object)
	data := maps.Clone(object.BinaryData)
	if data == nil {
		data = map[string][]byte{}
	}
	for key, text := range object.Data {
		data[key] = []byte(text)
	}
	return data, err
}

func (w *worker) read(ctx context.Context, name string, optional *bool, object client.Object) error {
	err := w.node.admin.Get(ctx, client.ObjectKey{Namespace: w.id.Namespace, Name: name}, object)
	if apierrors.IsNotFound(err) && isTrue(optional) {
		return nil
	}
	return err
}

func isTrue(b *bool) bool { return b != nil && *b }

// rewriteAll rewrites the paths in the files of a ConfigMap. All containers of
// the Pod see the same file; where they disagree on what is mounted at a path,
// the first one wins.
func (w *worker) rewriteAll(data map[string][]byte) {
	var all mounts
	for _, c := range w.containers {
		all = append(all, w.mounts[c.spec.Name]...)
	}
	all.sort()
	for key, text := range data {
		data[key] = []byte(all.rewrite(string(text)))
	}
}

// A token is good for a while; it is renewed after most of that.
type token struct {
	text  []byte
	renew time.Time
}

// token returns one of the Pod's ServiceAccount, bound to the Pod.
func (w *worker) token(ctx context.Context, pod *corev1.Pod, source *corev1.ServiceAccountTokenProjection) ([]byte, error) {
	key := source.Audience + " " + source.Path
	known, ok := w.tokens[key]
	if ok && time.Now().Before(known.renew) {
		return known.text, nil
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: source.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	if source.Audience != "" {
		request.Spec.Audiences = []string{source.Audience}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Spec.ServiceAccountName}}
	if err := w.node.admin.SubResource("token").Create(ctx, account, request); err != nil {
		return nil, err
	}
	now := time.Now()
	life := request.Status.ExpirationTimestamp.Sub(now)
	w.tokens[key] = token{text: []byte(request.Status.Token), renew: now.Add(life * 8 / 10)}
	return w.tokens[key].text, nil
}
