package webhook

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

type configuration = admissionregistrationv1.MutatingWebhookConfiguration

// publishing is a publisher with a cluster and a clock of its own.
type publishing struct {
	*Publisher
	want   *configuration
	writes []string
	at     time.Time
}

func newPublishing(t testing.TB) *publishing {
	t.Helper()
	p := &publishing{
		want: mustConfigure(t, configOptions(t), Rule{Resource: services, Namespaced: true}, Rule{Resource: certificates, Namespaced: true}),
		at:   time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
	}
	written := func(verb string, by string) {
		if by != FieldManager {
			t.Errorf("%s by %q, want %q", verb, by, FieldManager)
		}
		p.writes = append(p.writes, verb)
	}
	cluster := fake.NewClientBuilder().WithReturnManagedFields().Build()
	counted := interceptor.NewClient(cluster, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			options := (&client.CreateOptions{}).ApplyOptions(opts)
			written("create", options.FieldManager)
			return c.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			options := &client.PatchOptions{}
			options.ApplyOptions(opts)
			written("patch", options.FieldManager)
			return c.Patch(ctx, o, patch, opts...)
		},
	})
	p.Publisher = &Publisher{
		Client: counted,
		Build:  func(context.Context) (*configuration, error) { return p.want, nil },
		Clock:  func() time.Time { return p.at },
	}
	return p
}

func (p *publishing) publish(t testing.TB, writes ...string) {
	t.Helper()
	p.writes = nil
	if err := p.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(p.writes) != len(writes) || len(writes) > 0 && p.writes[0] != writes[0] {
		t.Fatalf("writes %v, want %v", p.writes, writes)
	}
}

func (p *publishing) live(t testing.TB) *configuration {
	t.Helper()
	c := &configuration{}
	if err := p.Client.Get(t.Context(), client.ObjectKey{Name: "dogear"}, c); err != nil {
		t.Fatal(err)
	}
	return c
}

func (p *publishing) edit(t testing.TB, change func(*configuration)) {
	t.Helper()
	c := p.live(t)
	change(c)
	if err := p.Client.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func (p *publishing) remove(t testing.TB) {
	t.Helper()
	if err := p.Client.Delete(t.Context(), p.live(t)); err != nil {
		t.Fatal(err)
	}
}

func TestPublishCreatesOnceAndFollows(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	p.publish(t, "create")
	p.publish(t)
	p.want = mustConfigure(t, configOptions(t), Rule{Resource: certificates, Namespaced: true}) // another authority, too
	p.publish(t, "patch")
	p.publish(t)
	if live := p.live(t); !upToDate(live, p.want) || len(live.Webhooks) != 1 {
		t.Errorf("%d webhooks are published", len(live.Webhooks))
	}
}

func TestPublishRepairsWhatIsOurs(t *testing.T) {
	t.Parallel()
	first := func(c *configuration) *admissionregistrationv1.MutatingWebhook { return &c.Webhooks[0] }
	tests := map[string]struct {
		edit func(*configuration)
		want []string
	}{
		"an emptied authority":    {func(c *configuration) { first(c).ClientConfig.CABundle = nil }, []string{"patch"}},
		"another failure policy":  {func(c *configuration) { first(c).FailurePolicy = new(admissionregistrationv1.Fail) }, []string{"patch"}},
		"a webhook less":          {func(c *configuration) { c.Webhooks = c.Webhooks[1:] }, []string{"patch"}},
		"a webhook more":          {func(c *configuration) { c.Webhooks = append(c.Webhooks, *first(c)) }, []string{"patch"}},
		"a wider rule":            {func(c *configuration) { first(c).Rules[0].Resources = []string{"*/*"} }, []string{"patch"}},
		"a lost condition":        {func(c *configuration) { first(c).MatchConditions = nil }, []string{"patch"}},
		"no excluded namespaces":  {func(c *configuration) { first(c).NamespaceSelector = &metav1.LabelSelector{} }, []string{"patch"}},
		"other namespaces":        {func(c *configuration) { first(c).NamespaceSelector.MatchLabels = map[string]string{"a": "b"} }, []string{"patch"}},
		"no namespace selector":   {func(c *configuration) { first(c).NamespaceSelector = nil }, []string{"patch"}},
		"a lost label":            {func(c *configuration) { c.Labels = nil }, []string{"patch"}},
		"another value":           {func(c *configuration) { c.Labels["app"] = "other" }, []string{"patch"}},
		"a foreign label":         {func(c *configuration) { c.Labels["foreign"] = "kept" }, nil},
		"a foreign annotation":    {func(c *configuration) { c.Annotations = map[string]string{"foreign": "kept"} }, nil},
		"more namespaces are out": {func(c *configuration) { excludeAKS(first(c)) }, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPublishing(t)
			p.publish(t, "create")
			p.edit(t, test.edit)
			p.publish(t, test.want...)
			p.publish(t)
			if !upToDate(p.live(t), p.want) {
				t.Error("the repair is not complete")
			}
		})
	}
}

// excludeAKS adds what the enforcer of Azure's clusters adds to every webhook.
func excludeAKS(webhook *admissionregistrationv1.MutatingWebhook) {
	webhook.NamespaceSelector.MatchExpressions = append(webhook.NamespaceSelector.MatchExpressions,
		metav1.LabelSelectorRequirement{Key: "control-plane", Operator: metav1.LabelSelectorOpDoesNotExist})
}

func TestPublishKeepsWhatIsForeign(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	p.publish(t, "create")
	p.edit(t, func(c *configuration) {
		c.Labels["foreign"] = "kept"
		c.Annotations = map[string]string{"foreign": "kept"}
		c.Webhooks = nil
	})
	p.publish(t, "patch")
	if live := p.live(t); live.Labels["foreign"] != "kept" || live.Annotations["foreign"] != "kept" {
		t.Errorf("labels %v, annotations %v", live.Labels, live.Annotations)
	}
}

// A deleted configuration is an emergency exit: it stays away for a period,
// however often something asks for it.
func TestPublishDoesNotMakeADeletedConfigurationAgainAtOnce(t *testing.T) {
	t.Parallel()
	p := newPublishing(t)
	p.publish(t, "create")
	for range 2 { // and each time anew
		p.at = p.at.Add(time.Hour)
		p.remove(t)
		p.publish(t)
		p.at = p.at.Add(defaultPeriod - time.Second)
		p.publish(t)
		p.at = p.at.Add(time.Second)
		p.publish(t, "create")
	}
	p.remove(t)
	p.publish(t)
	if err := p.Client.Create(t.Context(), p.want.DeepCopy(), client.FieldOwner(FieldManager)); err != nil { // somebody else
		t.Fatal(err)
	}
	p.publish(t)
	p.at = p.at.Add(defaultPeriod)
	p.remove(t)
	p.publish(t)
}

func TestPublishFails(t *testing.T) {
	t.Parallel()
	fault := errors.New("fault")
	tests := map[string]struct {
		change func(*publishing)
		want   func(error) bool
	}{
		"without a configuration": {func(p *publishing) {
			p.Build = func(context.Context) (*configuration, error) { return nil, fault }
		}, func(err error) bool { return errors.Is(err, fault) }},
		"without an authority": {func(p *publishing) {
			p.want.Webhooks[1].ClientConfig.CABundle = nil
		}, func(err error) bool { return errors.Is(err, ErrEmptyCABundle) }},
		"when it may not read": {func(p *publishing) {
			p.Client = interceptor.NewClient(fake.NewFakeClient(), interceptor.Funcs{
				Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
					return fault
				},
			})
		}, func(err error) bool { return errors.Is(err, fault) }},
		"when another writes meanwhile": {func(p *publishing) {
			cluster := p.Client.(client.WithWatch) //nolint:forcetypeassert // a fake is one
			p.Client = interceptor.NewClient(cluster, interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if err := c.Get(ctx, key, o, opts...); err != nil {
						return err
					}
					other := o.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy
					other.SetAnnotations(map[string]string{"a": "b"})
					return c.Update(ctx, other)
				},
			})
			p.want = p.want.DeepCopy()
			p.want.Webhooks = p.want.Webhooks[1:]
		}, apierrors.IsConflict},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPublishing(t)
			p.publish(t, "create")
			before := p.live(t)
			test.change(p)
			if err := p.Publish(t.Context()); !test.want(err) {
				t.Errorf("error %v", err)
			}
			if name != "when it may not read" && len(p.live(t).Webhooks) != len(before.Webhooks) {
				t.Error("the configuration was changed")
			}
		})
	}
}

func TestPublisherRepairsOnItsPeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPublishing(t)
		p.Clock = nil
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		synctest.Wait()
		p.live(t) // is there at once
		p.remove(t)
		passed := func(d time.Duration) bool {
			time.Sleep(d)
			synctest.Wait()
			return p.Client.Get(ctx, client.ObjectKey{Name: "dogear"}, &configuration{}) == nil
		}
		if passed(defaultPeriod + time.Second) {
			t.Error("made again within a period")
		}
		if !passed(defaultPeriod) {
			t.Error("not made again after a period")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
