package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// reach are the ports at which the policies let a Pod out to another one, as
// "port", or "port anywhere" where the rule names nobody.
func reach(t *testing.T, objects []*unstructured.Unstructured, from, to labels.Set) (ports []string) {
	t.Helper()
	for _, policy := range policiesOf(t, objects, from) {
		for _, rule := range policy.Spec.Egress {
			where := ""
			if len(rule.To) == 0 {
				where = " anywhere"
			} else if !slices.ContainsFunc(rule.To, func(peer networkingv1.NetworkPolicyPeer) bool { return isPeer(peer, to) }) {
				continue
			}
			for _, port := range rule.Ports {
				ports = append(ports, port.Port.String()+where)
			}
		}
	}
	return ports
}

func policiesOf(t *testing.T, objects []*unstructured.Unstructured, pod labels.Set) (policies []*networkingv1.NetworkPolicy) {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() != "NetworkPolicy" {
			continue
		}
		policy := to[networkingv1.NetworkPolicy](t, o)
		if selects(t, policy, pod) {
			policies = append(policies, policy)
		}
	}
	return policies
}

func selects(t *testing.T, policy *networkingv1.NetworkPolicy, pod labels.Set) bool {
	t.Helper()
	for _, e := range policy.Spec.PodSelector.MatchExpressions {
		if !slices.Contains(e.Values, pod[e.Key]) {
			return false
		}
	}
	return labels.SelectorFromSet(policy.Spec.PodSelector.MatchLabels).Matches(pod)
}

func isPeer(peer networkingv1.NetworkPolicyPeer, pod labels.Set) bool {
	return peer.PodSelector != nil && peer.NamespaceSelector == nil && labels.SelectorFromSet(peer.PodSelector.MatchLabels).Matches(pod)
}

// With policies, too, helm test sees the certificate that the webhook serves.
func TestTheTestReachesTheWebhook(t *testing.T) {
	t.Parallel()
	closed := "networkPolicy.enabled=true,networkPolicy.webhookFrom[0].ipBlock.cidr=10.0.0.1/32,networkPolicy.apiServer.cidrs[0]=10.0.0.1/32,networkPolicy.dns[0].podSelector.matchLabels.a=b"
	for set, want := range map[string]struct {
		out string
		in  bool
	}{
		"":                               {"webhook", true},
		"webhook.hostNetwork=true":       {"9443 anywhere", true},
		"webhook.url=https://a.b/c":      {"443 anywhere", false},
		"webhook.url=https://a.b:8443/c": {"8443 anywhere", false},
		"webhook.enabled=false":          {"", false},
	} {
		objects := rendered(t, "--set", closed, "--set", set)
		pods := map[string]labels.Set{}
		for _, pod := range podsOf(t, objects) {
			pods[pod.Labels["app.kubernetes.io/component"]] = pod.Labels
		}
		if got := strings.Join(reach(t, objects, pods["check"], pods["webhook"]), " "); got != want.out {
			t.Errorf("%s: the test reaches the webhook at %q: want %q", set, got, want.out)
		}
		if got := reach(t, objects, pods["uninstall"], pods["webhook"]); len(got) > 0 {
			t.Errorf("%s: the Job may leave at %v", set, got)
		}
		let := false
		for _, policy := range policiesOf(t, objects, pods["webhook"]) {
			for _, rule := range policy.Spec.Ingress {
				let = let || rule.Ports[0].Port.String() == "webhook" &&
					slices.ContainsFunc(rule.From, func(peer networkingv1.NetworkPolicyPeer) bool { return isPeer(peer, pods["check"]) })
			}
		}
		if let != want.in && len(pods["webhook"]) > 0 {
			t.Errorf("%s: the webhook lets the test in: %t", set, let)
		}
	}
}

func TestServicesThatAreReachedFromOutside(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]string{"dogear-webhook": "webhook", "dogear-callback": "callback"} {
		spec := func(set ...string) corev1.ServiceSpec {
			for i := range set {
				set[i] = values + ".service." + set[i]
			}
			o := find(rendered(t, "--set", strings.Join(append(set, "callback.enabled=true"), ",")), "Service", name)
			return to[corev1.Service](t, o).Spec
		}
		if s := spec(); s.Type != corev1.ServiceTypeClusterIP || s.Ports[0].NodePort != 0 || s.LoadBalancerClass != nil || s.ExternalTrafficPolicy != "" || s.IPFamilyPolicy != nil || s.IPFamilies != nil {
			t.Errorf("%s: %v", name, s)
		}
		if s := spec("type=NodePort", "nodePort=30443", "externalTrafficPolicy=Local"); s.Ports[0].NodePort != 30443 || s.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
			t.Errorf("%s: %v", name, s)
		}
		s := spec("type=LoadBalancer", "loadBalancerClass=a.b/c", "loadBalancerSourceRanges={10.0.0.0/8,10.1.0.0/16}", "ipFamilyPolicy=RequireDualStack", "ipFamilies={IPv6,IPv4}")
		if s.LoadBalancerClass == nil || *s.LoadBalancerClass != "a.b/c" || fmt.Sprintf("%v %v %v", s.LoadBalancerSourceRanges, *s.IPFamilyPolicy, s.IPFamilies) != "[10.0.0.0/8 10.1.0.0/16] RequireDualStack [IPv6 IPv4]" {
			t.Errorf("%s: %v", name, s)
		}
	}
}
