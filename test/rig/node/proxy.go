package node

import (
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A proxy plays kube-proxy: it passes connections to the ClusterIPs of Services
// with a selector on to their endpoints. Those without one are left to tests,
// which listen there themselves.
type proxy struct {
	node   *Node
	wake   chan struct{}
	fronts map[string]*front // by address
}

func newProxy(n *Node) *proxy {
	return &proxy{node: n, wake: make(chan struct{}, 1), fronts: map[string]*front{}}
}

// OnAdd, OnUpdate and OnDelete are of a handler of Services and EndpointSlices.
func (p *proxy) OnAdd(any, bool)   { p.poke() }
func (p *proxy) OnUpdate(_, _ any) { p.poke() }
func (p *proxy) OnDelete(any)      { p.poke() }

func (p *proxy) poke() {
	select {
	case p.wake <- struct{}{}:
	default: // it will look anyway
	}
}

func (p *proxy) run() {
	defer func() {
		for _, front := range p.fronts {
			front.end()
		}
	}()
	for {
		var again <-chan time.Time
		if wait := p.sync(); wait > 0 {
			again = time.After(wait)
		}
		select {
		case <-p.node.ctx.Done():
			return
		case <-p.wake:
		case <-again:
		}
	}
}

// sync brings all fronts up to date, and returns when one changes by itself.
func (p *proxy) sync() (wait time.Duration) {
	wanted, err := p.wanted()
	if err != nil {
		p.node.log.Printf("proxy: %v", err)
		return retryAfter
	}
	for address, front := range p.fronts {
		if _, ok := wanted[address]; !ok {
			front.end()
			delete(p.fronts, address)
		}
	}
	for address, targets := range wanted {
		if p.fronts[address] == nil {
			p.fronts[address] = &front{node: p.node, address: address}
		}
		next, err := p.fronts[address].update(targets)
		if err != nil {
			p.node.log.Printf("proxy: %v", err)
			next = retryAfter
		}
		if next > 0 && (wait == 0 || next < wait) {
			wait = next
		}
	}
	return wait
}

// wanted returns the addresses of Services with those of their endpoints.
func (p *proxy) wanted() (map[string][]string, error) {
	services, slicesOf := &corev1.ServiceList{}, map[types.NamespacedName][]discoveryv1.EndpointSlice{}
	if err := p.node.cache.List(p.node.ctx, services); err != nil {
		return nil, err
	}
	all := &discoveryv1.EndpointSliceList{}
	if err := p.node.cache.List(p.node.ctx, all); err != nil {
		return nil, err
	}
	for _, slice := range all.Items {
		service := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
		slicesOf[service] = append(slicesOf[service], slice)
	}
	wanted := map[string][]string{}
	for _, service := range services.Items {
		if ip := net.ParseIP(service.Spec.ClusterIP); ip == nil || len(service.Spec.Selector) == 0 {
			continue
		}
		for _, port := range service.Spec.Ports {
			if port.Protocol == corev1.ProtocolTCP {
				address := net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(int(port.Port)))
				wanted[address] = endpoints(slicesOf[types.NamespacedName{Namespace: service.Namespace, Name: service.Name}], port.Name)
			}
		}
	}
	return wanted, nil
}

// endpoints returns the ready ones of a Service's port. If there is none, it
// falls back, as kube-proxy does, to those that end but still say that they
// are ready.
func endpoints(all []discoveryv1.EndpointSlice, port string) []string {
	ready, ending := map[string]bool{}, map[string]bool{}
	for _, slice := range all {
		for _, known := range slice.Ports {
			if known.Port == nil || known.Name != nil && *known.Name != port || known.Name == nil && port != "" {
				continue
			}
			for _, endpoint := range slice.Endpoints {
				into := ready
				switch c := endpoint.Conditions; {
				case c.Ready == nil || *c.Ready:
				case isTrue(c.Serving) && isTrue(c.Terminating):
					into = ending
				default:
					continue
				}
				for _, address := range endpoint.Addresses {
					into[net.JoinHostPort(host(address), strconv.Itoa(int(*known.Port)))] = true
				}
			}
		}
	}
	if len(ready) == 0 {
		ready = ending
	}
	return slices.Sorted(maps.Keys(ready))
}
