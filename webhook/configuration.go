package webhook

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// notOwnName is the match condition that keeps a controller's own writes out.
const notOwnName = "not-dogear"

// systemNamespaces are never touched: what runs there keeps the cluster alive.
var systemNamespaces = []string{"kube-system", "kube-node-lease"}

// Configuration generates the webhook configuration for the rules, one webhook
// for each resource and version, and nothing else. The same input in whatever
// order gives the same output, with every field set that the API server would
// set itself. Rules of one resource and version are merged; of their selectors
// only those stay that they have in common.
//
// Errors wrap [ErrRule], [ErrConfig] or [ErrEmptyCABundle].
func Configuration(rules []Rule, options ConfigOptions) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	options = options.WithDefaults()
	if err := options.Validate(); err != nil {
		return nil, err
	}
	merged := map[schema.GroupVersionResource]Rule{}
	for _, rule := range rules {
		rule = rule.withDefaults()
		if err := rule.validate(); err != nil {
			return nil, err
		}
		if other, ok := merged[rule.Resource]; ok {
			if other.Namespaced != rule.Namespaced {
				return nil, fmt.Errorf("%w: %q is both namespaced and not", ErrRule, rule.Resource)
			}
			rule = other.merge(rule)
		}
		merged[rule.Resource] = rule
	}
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		TypeMeta: metav1.TypeMeta{
			APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingWebhookConfiguration",
		},
		ObjectMeta: options.metadata(),
	}
	for _, rule := range merged {
		configuration.Webhooks = append(configuration.Webhooks, options.webhooks(rule)...)
	}
	slices.SortFunc(configuration.Webhooks, func(a, b admissionregistrationv1.MutatingWebhook) int {
		return cmp.Compare(a.Name, b.Name)
	})
	return configuration, nil
}

// subresourcesPrefix begins the name of a webhook for subresources alone.
const subresourcesPrefix = "sub."

// webhooks are those for a rule. A write of a subresource is only guarded, never
// stamped or defaulted, and is as a rule one by which the cluster lives: of a
// kubelet, or of the controller that empties a namespace. So it passes while no
// webhook answers, whatever becomes of others.
func (o ConfigOptions) webhooks(rule Rule) []admissionregistrationv1.MutatingWebhook {
	if len(rule.Subresources) == 0 || o.FailurePolicy == admissionregistrationv1.Ignore {
		return []admissionregistrationv1.MutatingWebhook{o.webhook(rule)}
	}
	sub := o.webhook(rule)
	sub.Name = subresourcesPrefix + sub.Name
	sub.FailurePolicy = new(admissionregistrationv1.Ignore)
	sub.Rules[0].Resources = sub.Rules[0].Resources[1:]
	rule.Subresources = nil
	return []admissionregistrationv1.MutatingWebhook{o.webhook(rule), sub}
}

func (o ConfigOptions) webhook(rule Rule) admissionregistrationv1.MutatingWebhook {
	objects := &metav1.LabelSelector{}
	if rule.LabelSelector != nil {
		objects = rule.LabelSelector.DeepCopy()
	}
	return admissionregistrationv1.MutatingWebhook{
		Name:                    o.webhookName(rule.Resource),
		ClientConfig:            o.clientConfig(),
		Rules:                   []admissionregistrationv1.RuleWithOperations{rule.generate()},
		FailurePolicy:           new(o.FailurePolicy),
		MatchPolicy:             new(admissionregistrationv1.Equivalent),
		NamespaceSelector:       o.namespaces(rule),
		ObjectSelector:          objects,
		SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
		TimeoutSeconds:          new(o.TimeoutSeconds),
		AdmissionReviewVersions: []string{"v1"},
		ReinvocationPolicy:      new(admissionregistrationv1.IfNeededReinvocationPolicy),
		MatchConditions:         o.conditions(),
	}
}

func (r Rule) generate() admissionregistrationv1.RuleWithOperations {
	scope := admissionregistrationv1.ClusterScope
	if r.Namespaced {
		scope = admissionregistrationv1.NamespacedScope
	}
	resources := []string{r.Resource.Resource}
	for _, subresource := range r.Subresources {
		resources = append(resources, r.Resource.Resource+"/"+subresource)
	}
	return admissionregistrationv1.RuleWithOperations{
		Operations: r.Operations,
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{r.Resource.Group}, APIVersions: []string{r.Resource.Version},
			Resources: resources, Scope: &scope,
		},
	}
}

// namespaces selects by a label that the API server sets on every namespace and
// nobody can change. For a cluster-scoped object it means nothing, but for a
// namespace it means itself.
func (o ConfigOptions) namespaces(rule Rule) *metav1.LabelSelector {
	selector := &metav1.LabelSelector{}
	if rule.NamespaceSelector != nil {
		selector = rule.NamespaceSelector.DeepCopy()
	}
	excluded := slices.Clone(systemNamespaces)
	if o.OwnNamespace != "" {
		excluded = append(excluded, o.OwnNamespace)
	}
	selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
		Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: sortedSet(excluded),
	})
	return selector
}

// conditions cannot fail: a user always has a name, also where it is empty.
func (o ConfigOptions) conditions() []admissionregistrationv1.MatchCondition {
	if len(o.ServiceAccounts) == 0 {
		return nil
	}
	var quoted []string
	for _, user := range sortedSet(o.ServiceAccounts) {
		quoted = append(quoted, strconv.QuoteToASCII(user))
	}
	return []admissionregistrationv1.MatchCondition{{
		Name: notOwnName, Expression: "!(request.userInfo.username in [" + strings.Join(quoted, ", ") + "])",
	}}
}

// webhookName is a DNS name that depends on the resource and the domain alone.
func (o ConfigOptions) webhookName(resource schema.GroupVersionResource) string {
	group := resource.Group
	if group == "" {
		group = "core"
	}
	name := strings.Join([]string{resource.Resource, resource.Version, group, o.Domain}, ".")
	if len(name) <= maxName-len(subresourcesPrefix) {
		return name
	}
	digest := sha256.Sum256([]byte(name))
	return resource.Resource + "." + hex.EncodeToString(digest[:8]) + "." + o.Domain
}
