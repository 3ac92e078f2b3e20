package v1alpha1

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/dogear-dev/dogear/storage"
)

// ExpressionKind tells what an expression is for, and so what it sees.
type ExpressionKind string

// Kinds of expressions.
const (
	// ExpressionCondition yields a bool; it sees object.
	ExpressionCondition ExpressionKind = "condition"
	// ExpressionDefault yields anything; it sees object, request.userInfo and
	// namespaceObject.
	ExpressionDefault ExpressionKind = "default"
)

// ExpressionChecker tells why a CEL expression does not compile, or yields the
// wrong type; nil: it is fine.
//
// +kubebuilder:object:generate=false
type ExpressionChecker func(kind ExpressionKind, expression string) error

// Validate tells what of a set cannot be used that the schema of its CRD
// cannot tell. check compiles expressions; nil: they are not looked at.
func Validate(set AnySet, check ExpressionChecker) field.ErrorList {
	v := validator{check: check, spec: set.Declared()}
	at := field.NewPath("spec")
	v.resource(at.Child("resource"))
	if v.spec.Match != nil {
		v.match(at.Child("match"))
	}
	if v.spec.Defaults != nil {
		v.defaults(at.Child("defaults"))
	}
	for i := range v.spec.Handlers {
		v.handler(at.Child("handlers").Index(i), &v.spec.Handlers[i])
	}
	v.places(at.Child("handlers"))
	return v.errs
}

// ValidateUpdate is Validate for a change. It lets pass what does not change
// the spec, and what is being deleted: a set that has become invalid by a newer
// release must not be held back from its end.
func ValidateUpdate(old, set AnySet, check ExpressionChecker) field.ErrorList {
	if set.GetDeletionTimestamp() != nil || equality.Semantic.DeepEqual(old.Declared(), set.Declared()) {
		return nil
	}
	return Validate(set, check)
}

// validator collects what is wrong with a set.
//
// +kubebuilder:object:generate=false
type validator struct {
	spec  *HandlerSetSpec
	check ExpressionChecker
	errs  field.ErrorList
}

func (v *validator) invalid(at *field.Path, value any, format string, args ...any) {
	v.errs = append(v.errs, field.Invalid(at, value, fmt.Sprintf(format, args...)))
}

func (v *validator) resource(at *field.Path) {
	if reason := Forbidden(v.spec.Resource.GroupResource()); reason != "" {
		v.errs = append(v.errs, field.Forbidden(at, fmt.Sprintf("no set may name %s: %s", v.spec.Resource.GroupResource(), reason)))
	}
}

func (v *validator) match(at *field.Path) {
	m := v.spec.Match
	v.selector(at.Child("namespaceSelector"), m.NamespaceSelector)
	v.selector(at.Child("labelSelector"), m.LabelSelector)
	for i, annotation := range m.Annotations {
		key := at.Child("annotations").Index(i).Child("key")
		v.annotation(key, annotation.Key)
	}
	for i, condition := range m.Conditions {
		v.expression(at.Child("conditions").Index(i).Child("expression"), ExpressionCondition, condition.Expression)
	}
}

func (v *validator) selector(at *field.Path, selector *metav1.LabelSelector) {
	v.errs = append(v.errs, metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, at)...)
}

// annotation checks the key of an annotation that is asked for or set.
func (v *validator) annotation(at *field.Path, key string) {
	if storage.IsState(key) {
		v.invalid(at, key, "annotations whose prefix begins with dogear. are state of Dogear: choose another key")
	}
	for _, problem := range validation.IsQualifiedName(strings.ToLower(key)) {
		v.invalid(at, key, "%s", problem)
	}
}

func (v *validator) label(at *field.Path, key string) {
	for _, problem := range validation.IsQualifiedName(key) {
		v.invalid(at, key, "%s", problem)
	}
}

func (v *validator) expression(at *field.Path, kind ExpressionKind, expression string) {
	if v.check == nil {
		return
	}
	if err := v.check(kind, expression); err != nil {
		v.invalid(at, expression, "the expression does not compile: %s", err)
	}
}

// path reads a field path; false: it is none.
func (v *validator) path(at *field.Path, text string) (storage.Path, bool) {
	path, err := storage.ParsePath(text)
	if err != nil {
		v.invalid(at, text, "%s", err)
	}
	return path, err == nil
}

// places refuses handlers of the set that would take each other's place.
func (v *validator) places(at *field.Path) {
	for i := range v.spec.Handlers {
		h := &v.spec.Handlers[i]
		for j := range i {
			other := &v.spec.Handlers[j]
			if h.Status.Place() != TargetAnnotation && other.Status.Place() != TargetAnnotation && overlap(h, other) {
				v.invalid(at.Index(i).Child("status", "path"), h.StatusPath(),
					"handler %q keeps its payload at .status.%s: choose a place that is neither the same nor inside of the other", other.ID, other.StatusPath())
			}
			if kind := h.ConditionType(); kind != "" && kind == other.ConditionType() {
				v.invalid(at.Index(i).Child("status", "conditionType"), kind, "handler %q keeps this condition: choose another type", other.ID)
			}
		}
	}
}

func overlap(a, b *Handler) bool {
	x, y := strings.Split(a.StatusPath(), "."), strings.Split(b.StatusPath(), ".")
	n := min(len(x), len(y))
	return slices.Equal(x[:n], y[:n])
}
