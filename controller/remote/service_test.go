package remote

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dogear-dev/dogear/controller/handler"
)

// cluster is a fake API server that counts reads and fails them if it is told to.
type cluster struct {
	client.Client
	reads atomic.Int32
	err   atomic.Pointer[error]
}

func newCluster(objects ...client.Object) *cluster {
	c := &cluster{}
	c.Client = fake.NewClientBuilder().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			c.reads.Add(1)
			if err := c.err.Load(); err != nil {
				return *err
			}
			return inner.Get(ctx, key, o, options...)
		},
	}).Build()
	return c
}

func (c *cluster) fail(err error) {
	if err == nil {
		c.err.Store(nil)
		return
	}
	c.err.Store(&err)
}

func service(change func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "hooks", Name: "myapp"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.96.0.7",
			Ports: []corev1.ServicePort{{Port: 443}, {Port: 53, Protocol: corev1.ProtocolUDP}},
		},
	}
	if change != nil {
		change(s)
	}
	return s
}

var hooks = Service{Namespace: "hooks", Name: "myapp", Port: 443, Path: "/certificates"}

func TestAServiceResolvesToItsClusterIP(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		object *corev1.Service
		port   int32
		text   string
	}{
		"a ClusterIP":    {service(nil), 443, ""},
		"IPv6":           {service(func(s *corev1.Service) { s.Spec.ClusterIP = "fd00::7" }), 443, ""},
		"another port":   {service(nil), 8443, "Service hooks/myapp has no TCP port 8443"},
		"a port of UDP":  {service(nil), 53, "Service hooks/myapp has no TCP port 53"},
		"no Service":     {service(func(s *corev1.Service) { s.Name = "other" }), 443, "there is no Service hooks/myapp"},
		"headless":       {service(func(s *corev1.Service) { s.Spec.ClusterIP = "None" }), 443, "Service hooks/myapp is headless (clusterIP: None)"},
		"no address yet": {service(func(s *corev1.Service) { s.Spec.ClusterIP = "" }), 443, "Service hooks/myapp has no ClusterIP yet"},
		"ExternalName": {service(func(s *corev1.Service) {
			s.Spec.Type, s.Spec.ExternalName, s.Spec.ClusterIP = corev1.ServiceTypeExternalName, "metadata.google.internal", ""
		}), 443, "Service hooks/myapp is of type ExternalName, which is refused"},
		"ExternalName that was ClusterIP": {service(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }), 443, "ExternalName"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := hooks
			at.Port = test.port
			resolver := NewResolver(newCluster(test.object), testingclock.NewFakePassiveClock(time.Now()))
			got, err := resolver.Resolve(t.Context(), at)
			if test.text == "" {
				if want := netip.AddrPortFrom(netip.MustParseAddr(test.object.Spec.ClusterIP), uint16(test.port)); got != want || err != nil {
					t.Errorf("got %s, %v: want %s", got, err, want)
				}
				return
			}
			h := handlerOf(t, Endpoint{Service: &at}, Shared{Resolver: resolver})
			want(t, run(t, h), handler.Waiting, ReasonEndpointMissing, test.text)
			if health := h.Gate().Health(); h.Gate().Capacity() != 0 || health.Down.IsZero() {
				t.Errorf("the gate is open although there is nothing to call: %+v", health)
			}
		})
	}
}

func TestAServiceIsReadAtMostOnceInFiveSeconds(t *testing.T) {
	t.Parallel()
	for name, object := range map[string]*corev1.Service{"there": service(nil), "not there": service(func(s *corev1.Service) { s.Name = "other" })} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, now := newCluster(object), testingclock.NewFakePassiveClock(time.Now())
			resolver := NewResolver(c, now)
			for second := range 10 {
				for range 20 {
					_, _ = resolver.Resolve(t.Context(), hooks)
				}
				if n, want := int(c.reads.Load()), second/5+1; n != want {
					t.Errorf("after %d seconds: %d reads: want %d", second, n, want)
				}
				now.SetTime(now.Now().Add(time.Second))
			}
		})
	}
}

func TestAnAddressOutlivesAnAPIServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	c, now := newCluster(service(nil)), testingclock.NewFakePassiveClock(time.Now())
	resolver := NewResolver(c, now)
	resolve := func() error {
		_, err := resolver.Resolve(t.Context(), hooks)
		now.SetTime(now.Now().Add(resolverTTL))
		return err
	}
	if err := resolve(); err != nil {
		t.Fatal(err)
	}
	c.fail(apierrors.NewServiceUnavailable("etcd has no leader"))
	if err := resolve(); err != nil {
		t.Errorf("got %v: want the last address", err)
	}
	now.SetTime(now.Now().Add(resolverStale))
	if err := resolve(); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("got %v: want the server's error after %s", err, resolverStale)
	}
	c.fail(nil)
	if err := resolve(); err != nil {
		t.Errorf("got %v: want the address again", err)
	}
	c.fail(apierrors.NewNotFound(corev1.Resource("services"), "myapp"))
	if err := resolve(); err == nil {
		t.Error("a Service that is gone still resolves")
	}
}

// TestAServiceIsDialledByItsAddress: no name is resolved, the certificate must
// be the Service's, and a new address is dialled at once.
func TestAServiceIsDialledByItsAddress(t *testing.T) {
	t.Parallel()
	authority := newAuthority(t)
	var hosts [2]atomic.Pointer[string]
	var servers [2]*httptest.Server
	port := ""
	for i, ip := range []string{"127.0.0.11", "127.0.0.12"} {
		servers[i] = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			hosts[i].Store(&r.Host)
			w.WriteHeader(http.StatusNoContent)
		}))
		_ = servers[i].Listener.Close()
		l, err := net.Listen("tcp", net.JoinHostPort(ip, either(port, "0")))
		if err != nil {
			t.Skipf("listen on %s: %v", ip, err)
		}
		_, port, _ = net.SplitHostPort(l.Addr().String())
		servers[i].Listener, servers[i].TLS, servers[i].Config.ErrorLog = l, authority.server(t, "myapp.hooks.svc"), quiet
		servers[i].StartTLS()
		t.Cleanup(servers[i].Close)
	}
	number, _ := strconv.Atoi(port)
	object := service(func(s *corev1.Service) {
		s.Spec.ClusterIP, s.Spec.Ports = "127.0.0.11", []corev1.ServicePort{{Port: int32(number), Protocol: corev1.ProtocolTCP}}
	})
	c, now := newCluster(object), testingclock.NewFakeClock(time.Now())
	e := Endpoint{Service: &Service{Namespace: "hooks", Name: "myapp", Port: int32(number), Path: "/x"}, CAs: fixed(authority.pem), Timeout: patience}
	dns := &names{next: [][4]byte{{127, 0, 0, 1}}}
	h := handlerOf(t, e, Shared{Resolver: NewResolver(c, now), Clock: now, DNS: dns.resolver(t)})

	want(t, run(t, h), handler.Succeeded, "", "")
	if host := hosts[0].Load(); host == nil || *host != "myapp.hooks.svc:"+port {
		t.Errorf("the host is %v: want that of the Service", host)
	}
	object.Spec.ClusterIP = "127.0.0.12"
	object.ResourceVersion = ""
	if err := c.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	now.Step(resolverTTL)
	want(t, run(t, h), handler.Succeeded, "", "")
	if hosts[1].Load() == nil {
		t.Error("the new address was not dialled")
	}
	if n := dns.answered(); n != 0 {
		t.Errorf("%d names were resolved: want none", n)
	}
}

func TestTheAPIServerIsNoEndpoint(t *testing.T) {
	t.Parallel()
	c := newCluster(service(func(s *corev1.Service) { s.Namespace, s.Name, s.Spec.ClusterIP = "default", "kubernetes", "10.96.0.1" }))
	shared := Shared{Resolver: NewResolver(c, testingclock.NewFakePassiveClock(time.Now())), Guard: Guard{Denied: prefixes("10.96.0.1/32")}}
	h := handlerOf(t, Endpoint{Service: &Service{Namespace: "default", Name: "kubernetes"}}, shared)
	want(t, run(t, h), handler.Waiting, ReasonUnreachable, "address 10.96.0.1 is denied")
}
