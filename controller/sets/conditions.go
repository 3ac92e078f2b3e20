package sets

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// conditions sets the conditions of a set.
func (s *Service) conditions(v *verdict, status *v1alpha1.HandlerSetStatus, removing, left int, cleaningErr error) {
	findings := slices.Clone(v.findings)
	if f, ok := s.endpointsHealthy(v); ok {
		findings = append(findings, f)
	}
	ready, reconciling := s.ready(v)
	if removing > 0 {
		reconciling = &finding{v1alpha1.ConditionReconciling, metav1.ConditionTrue, "Removing",
			fmt.Sprintf("removing what %d handlers have left on objects: %d objects are left", removing, left)}
		if cleaningErr != nil {
			reconciling.message += ": " + cleaningErr.Error()
		}
		if i := slices.IndexFunc(findings, func(f finding) bool { return f.reason == rightsMissing }); i >= 0 {
			reconciling.message += ": " + findings[i].message
		}
		if v.set.GetDeletionTimestamp() != nil {
			ready = finding{v1alpha1.ConditionReady, metav1.ConditionFalse, "Deleting", reconciling.message}
		}
	}
	findings = append(slices.DeleteFunc(findings, func(f finding) bool { return f.condition == v1alpha1.ConditionReady }), ready)
	if reconciling != nil {
		findings = append(findings, *reconciling)
	}
	if v.stalled {
		findings = append(findings, finding{v1alpha1.ConditionStalled, metav1.ConditionTrue, ready.reason, ready.message})
	}
	status.Conditions = slices.DeleteFunc(slices.Clone(status.Conditions), func(c metav1.Condition) bool {
		return !slices.ContainsFunc(findings, func(f finding) bool { return f.condition == c.Type })
	})
	for _, f := range findings {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: f.condition, Status: f.status, Reason: f.reason, Message: clip(f.message), ObservedGeneration: v.set.GetGeneration(),
		})
	}
}

// maxMessage is what a condition's message may have.
const maxMessage = 32768

func clip(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage-3], "") + "..."
}

// byWeight puts first what a person has to mend.
func byWeight(a, b finding) int {
	weight := func(f finding) int {
		return slices.Index([]string{v1alpha1.ConditionPermitted, v1alpha1.ConditionReady}, f.condition)
	}
	return weight(b) - weight(a)
}

// ready tells whether the set is in force as declared.
func (s *Service) ready(v *verdict) (ready finding, reconciling *finding) {
	for _, f := range slices.SortedStableFunc(slices.Values(v.findings), byWeight) {
		if f.condition == v1alpha1.ConditionReady || f.status != metav1.ConditionTrue && (f.condition != v1alpha1.ConditionDefaultsValid || !v.defaults) {
			ready = finding{v1alpha1.ConditionReady, metav1.ConditionFalse, f.reason, f.message}
			if !v.stalled {
				reconciling = &finding{v1alpha1.ConditionReconciling, metav1.ConditionTrue, f.reason, f.message}
			}
			return ready, reconciling
		}
	}
	if v.undeclared != nil {
		text := fmt.Sprintf("the sets cannot be declared, what was declared before stays in force: %s", v.undeclared)
		return finding{v1alpha1.ConditionReady, metav1.ConditionFalse, "NotDeclared", text},
			&finding{v1alpha1.ConditionReconciling, metav1.ConditionTrue, "NotDeclared", text}
	}
	text := ""
	for i := range v.set.Declared().Handlers {
		if !known(v.set, v.set.Declared().Handlers[i].ID) {
			text = "the handlers are about to come into force"
		}
	}
	if text == "" && v.resource != nil {
		text = s.op.Awaited(v.resource.kind, v1alpha1.HandlerID(v.set, ""))
	}
	if text != "" {
		return finding{v1alpha1.ConditionReady, metav1.ConditionFalse, "Starting", text},
			&finding{v1alpha1.ConditionReconciling, metav1.ConditionTrue, "Starting", text}
	}
	if v.set.Declared().Paused {
		return finding{v1alpha1.ConditionReady, metav1.ConditionTrue, "Paused", "the set is in force, but its handlers are paused"}, nil
	}
	return finding{v1alpha1.ConditionReady, metav1.ConditionTrue, "InForce", "the set is in force"}, nil
}

// endpointsHealthy tells which endpoints are down.
func (s *Service) endpointsHealthy(v *verdict) (finding, bool) {
	if v.set.GetDeletionTimestamp() != nil || len(v.set.Declared().Handlers) == 0 {
		return finding{}, false
	}
	if v.unreadable != "" {
		return finding{v1alpha1.ConditionEndpointsHealthy, metav1.ConditionFalse, "EndpointRightsMissing", v.unreadable}, true
	}
	var down []string
	for i := range v.set.Declared().Handlers {
		id := v.set.Declared().Handlers[i].ID
		e := s.endpoints.find(v1alpha1.HandlerID(v.set, id))
		if e == nil {
			continue
		}
		if health := e.Gate().Health(); !health.Down.IsZero() {
			down = append(down, fmt.Sprintf("handler %q: down since %s: %s", id, health.Down.UTC().Format(time.RFC3339), health.LastError))
		}
	}
	if len(down) > 0 {
		return finding{v1alpha1.ConditionEndpointsHealthy, metav1.ConditionFalse, "EndpointDown", strings.Join(down, "; ")}, true
	}
	return finding{v1alpha1.ConditionEndpointsHealthy, metav1.ConditionTrue, "Answering", "no endpoint is down"}, true
}
