package remote

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// resolverTTL is how long an address counts before the Service is read again.
	resolverTTL = 5 * time.Second
	// resolverStale is how long it counts while the API server does not answer.
	resolverStale = 5 * time.Minute
)

// Service names a port of a Service of this cluster.
type Service struct {
	Namespace, Name string
	// Port is the port's number. Default: 443, with Endpoint.Plaintext 80.
	Port int32
	// Path is that of requests. Default: "/".
	Path string
}

func (s Service) host() string { return s.Name + "." + s.Namespace + ".svc" }

// Resolver finds the address of a Service: the ClusterIP that the API server
// gave it, never a name that DNS resolves. A Service is read at most once in
// 5 seconds, whether it is there or not.
type Resolver struct {
	services *cache[types.NamespacedName, *corev1.Service]
}

// NewResolver returns a Resolver that needs the right to get Services only,
// where reader has no cache.
func NewResolver(reader client.Reader, clock clock.PassiveClock) *Resolver {
	return &Resolver{services: &cache[types.NamespacedName, *corev1.Service]{
		clock: clock, ttl: resolverTTL, stale: resolverStale,
		gone: isGone,
		read: func(ctx context.Context, key types.NamespacedName) (*corev1.Service, error) {
			service := &corev1.Service{}
			return service, reader.Get(ctx, key, service)
		},
	}}
}

// isGone tells whether an error of the API server is an answer about the
// object, and none about the server.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}

// Resolve returns the address of a Service's port, or why it has none.
func (r *Resolver) Resolve(ctx context.Context, s Service) (netip.AddrPort, error) {
	name := s.Namespace + "/" + s.Name
	service, err := r.services.get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
	if apierrors.IsNotFound(err) {
		return netip.AddrPort{}, fmt.Errorf("there is no Service %s", name)
	}
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("get Service %s: %w", name, err)
	}
	switch {
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return netip.AddrPort{}, fmt.Errorf("Service %s is of type ExternalName, which is refused as it leads anywhere: set url instead", name)
	case service.Spec.ClusterIP == corev1.ClusterIPNone:
		return netip.AddrPort{}, fmt.Errorf("Service %s is headless (clusterIP: None), so the API server has given it no address: use a Service with a ClusterIP", name)
	}
	ip, err := netip.ParseAddr(service.Spec.ClusterIP)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("Service %s has no ClusterIP yet", name)
	}
	for _, port := range service.Spec.Ports {
		if port.Port == s.Port && (port.Protocol == corev1.ProtocolTCP || port.Protocol == "") {
			return netip.AddrPortFrom(ip, uint16(s.Port)), nil
		}
	}
	return netip.AddrPort{}, fmt.Errorf("Service %s has no TCP port %d", name, s.Port)
}
