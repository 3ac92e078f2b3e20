package sets

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/sets/expression"
	"github.com/dogear-dev/dogear/webhook"
)

// Decisions about sets, as labels of the metrics.
const (
	decisionValid   = "set-valid"
	decisionInvalid = "set-invalid"
)

// validation refuses sets that cannot be used when they are applied.
func (s *Service) validation() *webhook.Validation {
	return &webhook.Validation{
		Admitter: webhook.AdmitterFunc(s.review),
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{v1alpha1.GroupVersion.Version},
				Resources: []string{"clusterhandlersets", "handlersets"}, Scope: new(admissionregistrationv1.AllScopes),
			},
		}},
	}
}

func (s *Service) review(_ context.Context, request *admissionv1.AdmissionRequest) webhook.Answer {
	set, err := decodeSet(request.Kind.Kind, request.Object.Raw)
	if err != nil {
		return refuse(err.Error())
	}
	problems := v1alpha1.Validate(set, expression.Check)
	if request.Operation == admissionv1.Update {
		if old, err := decodeSet(request.Kind.Kind, request.OldObject.Raw); err == nil {
			problems = v1alpha1.ValidateUpdate(old, set, expression.Check)
		}
	}
	if len(problems) > 0 {
		return refuse(problems.ToAggregate().Error())
	}
	answer := webhook.Answer{Decision: decisionValid, Response: &admissionv1.AdmissionResponse{Allowed: true}}
	if err := s.settings.PermitResource(set.Declared().Resource.GroupResource(), set.GetNamespace() != ""); err != nil {
		answer.Response.Warnings = append(answer.Response.Warnings, err.Error())
	}
	for i := range set.Declared().Handlers {
		h := &set.Declared().Handlers[i]
		if h.HTTP.URL != "" {
			if err := s.settings.PermitURL(h.HTTP.URL); err != nil {
				answer.Response.Warnings = append(answer.Response.Warnings, fmt.Sprintf("handler %q: %s", h.ID, err))
			}
		}
	}
	return answer
}

func decodeSet(kind string, raw []byte) (v1alpha1.AnySet, error) {
	var set v1alpha1.AnySet = &v1alpha1.HandlerSet{}
	if kind == "ClusterHandlerSet" {
		set = &v1alpha1.ClusterHandlerSet{}
	}
	if err := json.Unmarshal(raw, set); err != nil {
		return nil, fmt.Errorf("the set does not decode: %w", err)
	}
	return set, nil
}

func refuse(text string) webhook.Answer {
	return webhook.Answer{Decision: decisionInvalid, Response: &admissionv1.AdmissionResponse{
		Result: &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: text},
	}}
}
