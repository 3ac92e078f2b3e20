package webhook

import (
	"bytes"
	"testing"

	"github.com/dogear-dev/dogear/webhook/cert"
)

// newInjecting is a publisher whose bundle an injector keeps; ours is what it
// publishes itself.
func newInjecting(t testing.TB) (p *publishing, ours []byte) {
	t.Helper()
	p = newPublishing(t)
	options := configOptions(t)
	options.InjectCAFrom = "dogear/dogear-webhook"
	ours = options.CABundle
	build := func(rules ...Rule) *configuration {
		c, err := Configuration(rules, options)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	p.want = build(Rule{Resource: services, Namespaced: true}, Rule{Resource: certificates, Namespaced: true})
	return p, ours
}

func inject(bundle []byte) func(*configuration) {
	return func(c *configuration) {
		for i := range c.Webhooks {
			c.Webhooks[i].ClientConfig.CABundle = bundle
		}
	}
}

func bundles(c *configuration) (all [][]byte) {
	for _, w := range c.Webhooks {
		all = append(all, w.ClientConfig.CABundle)
	}
	return all
}

func TestAnInjectedBundleIsLeftAlone(t *testing.T) {
	t.Parallel()
	p, ours := newInjecting(t)
	p.publish(t, "create")
	live := p.live(t)
	if live.Annotations[InjectAnnotation] != "dogear/dogear-webhook" {
		t.Errorf("annotations %v", live.Annotations)
	}
	for _, bundle := range bundles(live) {
		if !bytes.Equal(bundle, ours) {
			t.Error("the bundle is not that of ca.crt before the injector has come")
		}
	}
	theirs := authority(t)
	p.edit(t, inject(theirs))
	p.publish(t)

	// A webhook that is made later trusts the same.
	p.edit(t, func(c *configuration) { c.Webhooks = c.Webhooks[:1] })
	p.publish(t, "patch")
	if all := bundles(p.live(t)); len(all) != 2 || !bytes.Equal(all[0], theirs) || !bytes.Equal(all[1], theirs) {
		t.Errorf("%d bundles, and not all are the injector's", len(all))
	}
	// What somebody has emptied is filled, by what is known.
	p.edit(t, inject(nil))
	p.publish(t, "patch")
	for _, bundle := range bundles(p.live(t)) {
		if _, err := cert.ParseCABundle(bundle); err != nil {
			t.Error(err)
		}
	}
}

func TestTheInjectorIsAskedOrNot(t *testing.T) {
	t.Parallel()
	p, ours := newInjecting(t)
	asked := p.want.Annotations
	p.want = p.want.DeepCopy()
	p.want.Annotations = nil
	p.publish(t, "create")
	foreign := authority(t)
	p.edit(t, inject(foreign))

	p.want.Annotations = asked
	p.publish(t, "patch") // the bundle there was nobody's
	live := p.live(t)
	if live.Annotations[InjectAnnotation] == "" || !bytes.Equal(bundles(live)[0], ours) {
		t.Errorf("annotations %v, or a foreign bundle", live.Annotations)
	}
	p.want.Annotations = nil
	p.publish(t, "patch")
	if live := p.live(t); live.Annotations[InjectAnnotation] != "" {
		t.Errorf("annotations %v", live.Annotations)
	}
}

func TestTheInjectorKeepsTheValidatingBundle(t *testing.T) {
	t.Parallel()
	options := configOptions(t)
	options.InjectCAFrom = "dogear/dogear-webhook"
	want, err := (&Validation{}).Configuration(options)
	if err != nil {
		t.Fatal(err)
	}
	theirs := authority(t)
	have := want.DeepCopy()
	have.Webhooks[0].ClientConfig.CABundle = theirs
	followInjector(have, want)
	if !upToDateValidating(have, want) || !bytes.Equal(want.Webhooks[0].ClientConfig.CABundle, theirs) {
		t.Error("the injected bundle would be replaced")
	}
	have.Annotations = nil
	if upToDateValidating(have, want) {
		t.Error("the annotation would not be put back")
	}
	have.Annotations = want.Annotations
	have.Webhooks[0].ClientConfig.CABundle = nil
	if upToDateValidating(have, want) {
		t.Error("an empty bundle would stay")
	}
}
