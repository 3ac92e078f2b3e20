package sets

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/sets/expression"
)

// Selection is what of a set selects objects.
type Selection struct {
	// Namespace is that of a HandlerSet; empty: all.
	Namespace string
	// Namespaces selects them by their labels; nil: all, and objects without one.
	Namespaces labels.Selector
	Labels     labels.Selector

	annotations map[string]handler.Match
	conditions  []*expression.Condition
}

// SelectionOf reads the selection of a set.
func SelectionOf(set v1alpha1.AnySet) (*Selection, error) {
	s := &Selection{Namespace: set.GetNamespace()}
	var err error
	if s.Labels, err = labelsOf(set.Declared()); err != nil {
		return nil, err
	}
	declared := set.Declared().Match
	if declared == nil {
		return s, nil
	}
	for _, a := range declared.Annotations {
		if s.annotations == nil {
			s.annotations = map[string]handler.Match{}
		}
		switch {
		case a.Absent:
			s.annotations[a.Key] = handler.Absent
		case a.Value != nil:
			s.annotations[a.Key] = handler.Equals(*a.Value)
		default:
			s.annotations[a.Key] = handler.Present
		}
	}
	for _, c := range declared.Conditions {
		condition, err := expression.CompileCondition(c.Expression)
		if err != nil {
			return nil, fmt.Errorf("match.conditions: %s: %w", c.Name, err)
		}
		s.conditions = append(s.conditions, condition)
	}
	if n := declared.NamespaceSelector; n != nil && len(n.MatchLabels)+len(n.MatchExpressions) > 0 {
		if s.Namespaces, err = metav1.LabelSelectorAsSelector(n); err != nil {
			return nil, fmt.Errorf("match.namespaceSelector: %w", err)
		}
	}
	return s, nil
}

// labelsOf is the label selector of a set.
func labelsOf(spec *v1alpha1.HandlerSetSpec) (labels.Selector, error) {
	if spec.Match == nil || spec.Match.LabelSelector == nil {
		return labels.Everything(), nil
	}
	selector, err := metav1.LabelSelectorAsSelector(spec.Match.LabelSelector)
	if err != nil {
		return nil, fmt.Errorf("match.labelSelector: %w", err)
	}
	return selector, nil
}

// Within tells whether objects in a namespace with these labels may be selected.
func (s *Selection) Within(name string, have labels.Set) bool {
	return (s.Namespace == "" || s.Namespace == name) && (s.Namespaces == nil || s.Namespaces.Matches(have))
}

// Selects tells whether an object is selected by what it is itself, wherever it
// is.
func (s *Selection) Selects(o *unstructured.Unstructured) bool {
	if !s.Labels.Matches(labels.Set(o.GetLabels())) {
		return false
	}
	for key, match := range s.annotations {
		if value, present := o.GetAnnotations()[key]; !match.Matches(value, present) {
			return false
		}
	}
	return s.hold(o)
}

// hold tells whether all conditions hold on an object.
func (s *Selection) hold(o *unstructured.Unstructured) bool {
	for _, c := range s.conditions {
		// One that fails on an object does not select it.
		if holds, err := c.Holds(o); err != nil || !holds {
			return false
		}
	}
	return true
}
