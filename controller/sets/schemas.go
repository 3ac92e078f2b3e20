package sets

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/sets/defaults"
)

// judgeDefaults finds out what the API server would make of the defaults. Those
// that it would refuse are not filled in at all: it would refuse the objects of
// users who did not ask for them.
func (s *Service) judgeDefaults(ctx context.Context, v *verdict) (usable bool) {
	declared := v.set.Declared().Defaults
	if declared == nil || v.resource == nil {
		return true
	}
	bounded, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if !s.settings.Webhook.Enabled() {
		v.find(v1alpha1.ConditionDefaultsValid, metav1.ConditionFalse, "NoWebhook", "this installation has no webhook (webhook.service, webhook.url), so no default is filled in")
		return false
	}
	schema, err := s.schemas.Of(bounded, v.resource.kind)
	switch {
	case err != nil:
		v.find(v1alpha1.ConditionDefaultsValid, metav1.ConditionUnknown, "SchemaUnknown", "%s", err)
		return true
	case schema == nil:
		v.find(v1alpha1.ConditionDefaultsValid, metav1.ConditionUnknown, "NoSchema", "the API server publishes no schema of %s", v.resource.kind)
		return true
	}
	var texts []string
	usable = true
	for _, p := range defaults.Problems(declared, schema) {
		texts = append(texts, p.String())
		usable = usable && p.Dropped
	}
	text := strings.Join(texts, "; ")
	switch {
	case !usable:
		v.stalled = true
		v.find(v1alpha1.ConditionDefaultsValid, metav1.ConditionFalse, "Refused", "no default of the set is filled in, as the API server would refuse objects with them: %s", text)
	case len(texts) > 0:
		v.find(v1alpha1.ConditionDefaultsValid, metav1.ConditionFalse, "Dropped", "%s", text)
	default:
		v.find(v1alpha1.ConditionDefaultsValid, metav1.ConditionTrue, "Kept", "the schema keeps all that is filled in")
	}
	return usable
}

// judgePlaces finds out whether payloads that must be in .status can be there.
func (s *Service) judgePlaces(ctx context.Context, v *verdict) {
	for i := range v.set.Declared().Handlers {
		h := &v.set.Declared().Handlers[i]
		if h.Status.Place() != v1alpha1.TargetStatus || v.resource == nil {
			continue
		}
		keeps, err := s.op.KeepsStatus(ctx, v.resource.kind, strings.Split(h.StatusPath(), ".")...)
		if err == nil && !keeps {
			v.find(conditionStatusKept, metav1.ConditionFalse, "StatusNotKept", "handler %q: the schema of %s has no room for payloads at .status.%s: "+
				"they go to the annotation; choose another status.path, or status.target Auto", h.ID, v.resource.kind.Kind, h.StatusPath())
			return
		}
	}
}

// conditionStatusKept is there where a payload cannot be where it must.
const conditionStatusKept = "StatusKept"
