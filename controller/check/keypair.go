package check

import (
	"context"
	"crypto/tls"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/webhook/cert"
)

// keptWrong says what is wrong with the Secret of the webhook's certificate, where
// whoever asks may read it. What is served does not tell: a Pod that runs goes on
// with the last pair that was good, and one that starts never becomes ready.
func (r *round) keptWrong(ctx context.Context, h *hook) (fault Result, wrong bool) {
	if h.place == nil {
		return Result{}, false
	}
	name := h.place.secretOf(string(r.prefix))
	if name == "" {
		return Result{}, false
	}
	key := client.ObjectKey{Namespace: h.place.Namespace, Name: name}
	given := h.place.settings.certificateDir != "" // and not made by the controller
	if may, err := r.may(ctx, "get", key, "secrets"); err != nil || !may {
		return Result{}, false // a request that is refused would only be noise in an audit log
	}
	secret := &corev1.Secret{}
	err := r.client.Get(ctx, key, secret)
	switch {
	case apierrors.IsNotFound(err) && given:
		return failed("Secret %s is not there: it is to have the webhook's certificate", key).hint("%s", h.newSecret()), true
	case err != nil:
		return Result{}, false
	}
	if _, err := tls.X509KeyPair(secret.Data[cert.KeyCertificate], secret.Data[cert.KeyPrivateKey]); err != nil {
		return failed("Secret %s has no pair that can be served, so no Pod of the webhook that starts becomes ready: %s", key, err).hint("%s", h.newSecret()), true
	}
	if given && !h.place.settings.injected && len(secret.Data[cert.KeyCAs]) == 0 && slices.Contains(mountedSecrets(h.place.Controller(), h.place.settings.certificateDir), name) {
		return failed("Secret %s has no ca.crt, so it cannot be published by whom the webhook is to be trusted", key).
			hint("add ca.crt, the authority of tls.crt, or set webhook.certificate.caBundle"), true
	}
	return Result{}, false
}

// newSecret is what to do about one that cannot be right.
func (h *hook) newSecret() string {
	switch {
	case h.place.settings.injected:
		return "cert-manager makes it: see whether it runs, and 'kubectl describe certificate' of the webhook"
	case h.place.settings.certificateDir != "":
		return "put tls.crt, its key tls.key, and its authority ca.crt into it: they are taken up without a restart"
	}
	return "delete it: the controller makes it anew"
}

// mountedSecrets are those that a Deployment has at a path.
func mountedSecrets(d *appsv1.Deployment, path string) (names []string) {
	if d == nil {
		return nil
	}
	pod := &d.Spec.Template.Spec
	for i := range pod.Containers {
		for _, mount := range pod.Containers[i].VolumeMounts {
			for j := range pod.Volumes {
				v := &pod.Volumes[j]
				if mount.MountPath != path || v.Name != mount.Name {
					continue
				}
				if v.Secret != nil {
					names = append(names, v.Secret.SecretName)
				}
				if v.Projected != nil {
					for _, source := range v.Projected.Sources {
						if source.Secret != nil {
							names = append(names, source.Secret.Name)
						}
					}
				}
			}
		}
	}
	return names
}
