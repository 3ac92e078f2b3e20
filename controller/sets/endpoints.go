package sets

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config"
	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/remote"
)

// endpoints are those of all handlers. One that is declared anew keeps what is
// known of its health while it leads to the same place.
type endpoints struct {
	shared   remote.Shared
	secrets  *remote.Secrets
	offer    remote.CallbackSource // nil: none
	clock    clock.WithDelayedExecution
	mu       sync.Mutex
	declared map[string]*endpoint // by handler ID
}

type endpoint struct {
	*remote.Handler
	text  string // what was declared
	place string // where it leads to
	set   types.UID
}

func (s *Service) newEndpoints(ctx context.Context, api *rest.Config) (*endpoints, error) {
	guard := remote.Guard{AllowLoopback: s.settings.AllowLoopback}
	for _, text := range s.settings.AllowedNetworks {
		network, err := config.ParseNetwork(text)
		if err != nil {
			return nil, err
		}
		guard.Allowed = append(guard.Allowed, network)
	}
	for _, text := range s.settings.DeniedNetworks {
		network, err := config.ParseNetwork(text)
		if err != nil {
			return nil, err
		}
		guard.Denied = append(guard.Denied, network)
	}
	for _, ip := range s.serverAddresses(ctx, api) {
		if !ip.IsLoopback() || !s.settings.AllowLoopback {
			guard.Denied = append(guard.Denied, netip.PrefixFrom(ip, ip.BitLen()))
		}
	}
	version := s.options.Version
	if version == "" {
		version = "devel"
	}
	e := &endpoints{
		shared: remote.Shared{
			Guard: guard, Resolver: remote.NewResolver(s.client, s.clock), UserAgent: "dogear/" + version, Clock: s.clock,
		},
		secrets: remote.NewSecrets(s.client, s.clock), clock: s.clock, declared: map[string]*endpoint{},
	}
	if s.callbacks != nil {
		e.offer = s.callbacks.offer.Offer
	}
	return e, nil
}

// serverAddresses are the addresses of the API server that are known: no
// endpoint may have them. Those of its machines, where it is reached by a name,
// are for the settings to deny.
func (s *Service) serverAddresses(ctx context.Context, api *rest.Config) (all []netip.Addr) {
	hosts := []string{os.Getenv("KUBERNETES_SERVICE_HOST")}
	if u, err := url.Parse(api.Host); err == nil {
		hosts = append(hosts, u.Hostname())
	}
	service := &corev1.Service{}
	if !s.controls() {
		return nil // it calls nobody
	}
	if s.mayName(metav1.NamespaceDefault) {
		if err := s.client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}, service); err != nil {
			s.log.Info("The API server's own Service cannot be read, so its address is denied to endpoints only if it is in the kubeconfig or the settings", "error", err.Error())
		}
	}
	for _, host := range append(hosts, service.Spec.ClusterIPs...) {
		if ip, err := netip.ParseAddr(host); err == nil {
			all = append(all, ip.Unmap())
		}
	}
	return all
}

// of returns the endpoint of a handler.
func (e *endpoints) of(v *verdict, h *v1alpha1.Handler) (*endpoint, error) {
	id := v1alpha1.HandlerID(v.set, h.ID)
	text, err := json.Marshal([]any{h.HTTP, h.Retry.Policy(), v.resource.name.String()})
	if err != nil {
		return nil, fmt.Errorf("encode the endpoint: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.declared[id]
	if before != nil && before.text == string(text) && before.set == v.set.GetUID() {
		return before, nil
	}
	next := &endpoint{text: string(text), place: placeOf(v.set, &h.HTTP), set: v.set.GetUID()}
	limits := remote.Limits{Concurrency: h.HTTP.InFlight(), Rate: float64(h.HTTP.RatePerSecond)}
	described := e.describe(v, h)
	if before != nil && before.place == next.place && before.set == next.set {
		described.Gate = before.Gate()
		described.Gate.SetLimits(limits)
	} else {
		described.Gate = remote.NewGate(limits, e.clock)
	}
	if next.Handler, err = remote.New(described, e.shared); err != nil {
		return nil, err
	}
	if before != nil {
		before.Close()
	}
	e.declared[id] = next
	return next, nil
}

func placeOf(set v1alpha1.AnySet, h *v1alpha1.HTTP) string {
	if h.Service == nil {
		return h.URL
	}
	return fmt.Sprintf("%s/%s:%d %s", h.ServiceNamespace(set), h.Service.Name, h.ServicePort(), h.Scheme())
}

func (e *endpoints) describe(v *verdict, h *v1alpha1.Handler) remote.Endpoint {
	spec := &h.HTTP
	out := remote.Endpoint{
		Set: v.set.GetName(), SetNamespace: v.set.GetNamespace(), ID: h.ID, Resource: v.resource.name,
		URL: spec.URL, Plaintext: spec.Plaintext,
		Projection: spec.Projection, IncludeSecretData: spec.IncludeSecretData,
		OnError: policies[h.Retry.Policy()], Callback: e.offer,
	}
	out.Timeout, out.ConnectTimeout, out.HeaderTimeout = spec.Timeouts()
	if service := spec.Service; service != nil {
		out.Service = &remote.Service{
			Namespace: spec.ServiceNamespace(v.set), Name: service.Name, Port: spec.ServicePort(), Path: spec.ServicePath(),
		}
	}
	named := func(ref *v1alpha1.SecretReference) types.NamespacedName {
		return types.NamespacedName{Namespace: spec.SecretNamespace(v.set, ref), Name: ref.Name}
	}
	switch {
	case len(spec.CABundle) > 0:
		bundle := spec.CABundle
		out.CAs = func(context.Context) ([]byte, error) { return bundle, nil }
	case spec.CASecretRef != nil:
		out.CAs = e.secrets.CAs(named(spec.CASecretRef))
	}
	if ref := spec.ClientCertificateSecretRef; ref != nil {
		out.ClientCertificate = e.secrets.ClientCertificate(named(ref))
	}
	if ref := spec.SecretRef; ref != nil {
		out.Keys = e.secrets.Keys(named(ref))
	}
	return out
}

var policies = map[v1alpha1.ErrorPolicy]handler.ErrorPolicy{
	v1alpha1.ErrorRetry: handler.RetryError, v1alpha1.ErrorFail: handler.FailError, v1alpha1.ErrorIgnore: handler.IgnoreError,
}

// find returns the endpoint of a handler that is declared; nil: there is none.
func (e *endpoints) find(id string) *endpoint {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.declared[id]
}

// keep closes the endpoints of handlers that no set has any more.
func (e *endpoints) keep(all []*verdict) {
	there := map[string]bool{}
	for _, v := range all {
		for i := range v.set.Declared().Handlers {
			there[v1alpha1.HandlerID(v.set, v.set.Declared().Handlers[i].ID)] = v.set.GetDeletionTimestamp() == nil
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, declared := range e.declared {
		if !there[id] {
			declared.Close()
			delete(e.declared, id)
		}
	}
}
