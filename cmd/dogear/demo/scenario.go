package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/cmd/dogear/demo/hook"
	"github.com/dogear-dev/dogear/storage"
)

// Expected is how an object has to end.
type Expected struct {
	Object string // "Kind/name"
	// Gone: the object is deleted, and nothing of it is left.
	Gone bool
	// Handlers tells the state in which each ends, if the object does not go.
	Handlers map[string]storage.State
}

// DefaultExpected is how the objects end where all is well.
func DefaultExpected() []Expected {
	return []Expected{
		{Object: "Certificate/shop", Handlers: map[string]storage.State{"certs/policy": storage.Succeeded, "issue/provision": storage.Succeeded}},
		{Object: "Certificate/rogue", Handlers: map[string]storage.State{"certs/policy": storage.Failed}},
		{Object: "Service/web", Handlers: map[string]storage.State{"net/dns": storage.Succeeded, "slow/warm-up": storage.Succeeded}},
		{Object: "Service/api", Gone: true},
	}
}

// warmUpAnnotation on a Service asks for the slow handler.
const warmUpAnnotation = "example.com/warm-up"

// pause between two acts is for people, who want to see one at a time.
const pause = 400 * time.Millisecond

// The objects that the user creates: no certificate names a Secret, though its
// CRD wants one.
var (
	certificate = `{"apiVersion":"cert-manager.io/v1","kind":"Certificate","spec":{"dnsNames":[%q],"issuerRef":{"name":"ca"}}}`
	service     = `{"apiVersion":"v1","kind":"Service","metadata":{"annotations":{%q:"yes"}},"spec":{"selector":{"app":"demo"},"ports":[{"port":80}]}}`
)

// perform does what the user does, and returns when all is done.
func (d *demo) perform(ctx context.Context) error {
	shop, err := d.create(ctx, "shop", fmt.Sprintf(certificate, "shop."+hook.Domain))
	if err != nil {
		return err
	}
	d.defaulted, _, _ = unstructured.NestedString(shop.Object, "spec", "secretName")
	d.say("alice creates Certificate/shop; admission fills in spec.secretName: %q", d.defaulted)
	if err := sleep(ctx, pause); err != nil {
		return err
	}
	if _, err := d.create(ctx, "rogue", fmt.Sprintf(certificate, "rogue.example.org")); err != nil {
		return err
	}
	d.say("alice creates Certificate/rogue, for a name that the policy does not allow")
	if err := sleep(ctx, pause); err != nil {
		return err
	}
	if _, err := d.create(ctx, "web", fmt.Sprintf(service, warmUpAnnotation)); err != nil {
		return err
	}
	d.say("alice creates Service/web, which takes %s to warm up", hook.WarmUpTime)
	if err := sleep(ctx, pause); err != nil {
		return err
	}
	api, err := d.create(ctx, "api", fmt.Sprintf(service, "example.com/note"))
	if err != nil {
		return err
	}
	d.say("alice creates Service/api, which waits for nobody")
	return d.deleteOnce(ctx, api)
}

// deleteOnce deletes an object as soon as its handlers have succeeded.
func (d *demo) deleteOnce(ctx context.Context, u *unstructured.Unstructured) error {
	title := u.GetKind() + "/" + u.GetName()
	err := d.await(ctx, func(objects []object) bool {
		o, _ := find(objects, title)
		return o.State.Finished() || o.State == gone
	})
	if err == nil {
		err = sleep(ctx, 2*pause)
	}
	if err != nil {
		return err
	}
	if err := d.alice.Delete(ctx, u); err != nil {
		return fmt.Errorf("delete %s as %s: %w", title, userName, err)
	}
	d.say("alice deletes %s: the finalizer holds it until its handler cleaned up", title)
	return nil
}

func (d *demo) create(ctx context.Context, name, body string) (*unstructured.Unstructured, error) {
	u, err := d.object(name, body)
	if err != nil {
		return nil, err
	}
	if err := d.alice.Create(ctx, u); err != nil {
		return nil, fmt.Errorf("create %s/%s as %s: %w", u.GetKind(), name, userName, err)
	}
	return u, nil
}

func (d *demo) object(name, body string) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(body), &u.Object); err != nil {
		return nil, fmt.Errorf("decode the object %q: %w", name, err)
	}
	u.SetNamespace(objectsNamespace)
	u.SetName(name)
	return u, nil
}

// probe asks without any effect whether admission stamps and sets defaults.
func (d *demo) probe(ctx context.Context) error {
	u, err := d.object("probe", fmt.Sprintf(certificate, "probe."+hook.Domain))
	if err != nil {
		return err
	}
	if err := d.alice.Create(ctx, u, client.DryRunAll); err != nil {
		return err
	}
	if u.GetAnnotations()[d.board.prefix.Key(storage.KeyState)] == "" {
		return fmt.Errorf("a new Certificate is not stamped")
	}
	return nil
}

// sleep ends early, with the cause, when ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
