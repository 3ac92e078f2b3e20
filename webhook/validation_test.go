package webhook

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

type validatingConfiguration = admissionregistrationv1.ValidatingWebhookConfiguration

// newValidating is a publisher of both configurations, the first of which is
// there already.
func newValidating(t testing.TB) *publishing {
	t.Helper()
	p := newPublishing(t)
	p.publish(t, "create")
	v := &Validation{Rules: []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"a.example.com"}, APIVersions: []string{"v1"}, Resources: []string{"as"}},
	}}}
	want, err := v.Configuration(configOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	p.BuildValidating = func(context.Context) (*validatingConfiguration, error) { return want, nil }
	return p
}

func (p *publishing) validating(t testing.TB) *validatingConfiguration {
	t.Helper()
	c := &validatingConfiguration{}
	if err := p.Client.Get(t.Context(), client.ObjectKey{Name: "dogear"}, c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheValidatingConfigurationIsKeptAsTheOther(t *testing.T) {
	t.Parallel()
	p := newValidating(t)
	p.publish(t, "create")
	p.publish(t)
	edits := map[string]struct {
		edit func(*validatingConfiguration)
		want []string
	}{
		"more namespaces are out": {func(c *validatingConfiguration) {
			c.Webhooks[0].NamespaceSelector.MatchExpressions = append(c.Webhooks[0].NamespaceSelector.MatchExpressions,
				metav1.LabelSelectorRequirement{Key: "control-plane", Operator: metav1.LabelSelectorOpDoesNotExist})
		}, nil},
		"a foreign label":        {func(c *validatingConfiguration) { c.Labels["foreign"] = "kept" }, nil},
		"a lost label":           {func(c *validatingConfiguration) { delete(c.Labels, "app") }, []string{"patch"}},
		"another failure policy": {func(c *validatingConfiguration) { c.Webhooks[0].FailurePolicy = new(admissionregistrationv1.Fail) }, []string{"patch"}},
		"no webhook":             {func(c *validatingConfiguration) { c.Webhooks = nil }, []string{"patch"}},
	}
	for name, test := range edits {
		c := p.validating(t)
		test.edit(c)
		if err := p.Client.Update(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		t.Log(name)
		p.publish(t, test.want...)
		p.publish(t)
	}
	// Its emergency exit is one of its own.
	p.at = p.at.Add(time.Hour)
	if err := p.Client.Delete(t.Context(), p.validating(t)); err != nil {
		t.Fatal(err)
	}
	p.publish(t)
	p.at = p.at.Add(defaultPeriod - time.Second)
	p.publish(t)
	p.at = p.at.Add(time.Second)
	p.publish(t, "create")
}

// A fault of one configuration, such as a right that is missing, is no reason
// to be without the other.
func TestEachConfigurationIsPublishedWithoutTheOther(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configurations"}, "dogear", nil)
	tests := map[string]struct {
		refused   func(client.Object) bool
		published int
	}{
		"the validating one": {func(o client.Object) bool { _, ok := o.(*validatingConfiguration); return ok }, 1},
		"the mutating one":   {func(o client.Object) bool { _, ok := o.(*configuration); return ok }, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newValidating(t)
			p.remove(t)
			p.mutating = presence{} // as another process
			published := 0
			p.Published = func() { published++ }
			all := p.Client
			p.Client = interceptor.NewClient(all.(client.WithWatch), interceptor.Funcs{ //nolint:forcetypeassert // a fake is one
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if test.refused(o) {
						return forbidden
					}
					return c.Get(ctx, key, o, opts...)
				},
			})
			if err := p.Publish(t.Context()); !apierrors.IsForbidden(err) {
				t.Errorf("error %v", err)
			}
			p.Client = all
			if test.refused(&configuration{}) {
				p.validating(t)
			} else {
				p.live(t)
			}
			if published != test.published {
				t.Errorf("called %d times for the mutating configuration", published)
			}
		})
	}
}

// Whoever relies on the configuration must not do so while it is deleted.
func TestADeletedConfigurationIsNotSaidToBePublished(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	published := 0
	p.Published = func() { published++ }
	p.publish(t, "create")
	p.publish(t)
	p.remove(t)
	p.publish(t)
	p.publish(t)
	if published != 2 {
		t.Errorf("%d looks found it there, want 2", published)
	}
	p.at = p.at.Add(defaultPeriod)
	p.publish(t, "create")
	if published != 3 {
		t.Errorf("%d looks found it there, want 3", published)
	}
}

// What has changed is published at once, and soon where that fails.
func TestPublisherIsWoken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPublishing(t)
		p.Clock = nil
		wake := make(chan struct{}, 1)
		p.Wake = wake
		var looks atomic.Int64
		next := mustConfigure(t, configOptions(t), Rule{Resource: certificates, Namespaced: true})
		p.Build = func(context.Context) (*configuration, error) {
			switch looks.Add(1) {
			case 1:
				return p.want, nil
			case 2:
				return nil, errors.New("fault")
			}
			return next, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		synctest.Wait()
		wake <- struct{}{}
		synctest.Wait()
		if n := looks.Load(); n != 2 {
			t.Errorf("%d looks, want one more at once", n)
		}
		time.Sleep(retryPause)
		synctest.Wait()
		if names := p.live(t).Webhooks; len(names) != 1 || !strings.HasPrefix(names[0].Name, "certificates.") {
			t.Errorf("webhooks %v", names)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
