package uninstall

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/webhook"
)

// run is one in progress.
type run struct {
	Options
	*installation.Connection
	client client.Client // writes objects of the service itself; it only pretends in a dry run

	found    *installation.Installation // nil: there is none
	unhooked time.Time                  // when a webhook configuration was last deleted
	scaling  map[string]int32           // Deployments that this run was to scale to 0, with the replicas that they had
	targets  []target
	looks    int                             // at the objects of a target, so far
	traces   map[string]map[types.UID]*trace // by resource
	sets     []foundSet
	setKinds []target // of the sets themselves
	result   Result
}

// Run removes the service from a cluster. The result tells what was done also
// where it ends with an error, which is [ErrLeft] where the run came to its end
// and could not remove all.
func Run(ctx context.Context, options Options) (*Result, error) {
	if options.Config != nil {
		options.Config = installation.Until(ctx, options.Config)
	}
	r, err := newRun(options)
	if err != nil {
		return nil, err
	}
	steps := []func(context.Context) error{r.find}
	if !r.KeepState {
		steps = append(steps, r.mayLook)
	}
	steps = append(steps, r.unhook, r.stop, r.unhookAgain)
	if r.KeepState {
		steps = append(steps, r.keepState)
	} else {
		steps = append(steps, r.choose, r.release, r.releaseSets, r.farewell, r.deleteOwn)
	}
	err = r.walk(ctx, steps)
	if err == nil && len(r.result.Left) > 0 {
		err = ErrLeft
	}
	r.result.sort()
	r.result.listed()
	r.result.Done = err == nil
	if err != nil {
		r.result.Error = err.Error()
	}
	return &r.result, err
}

func newRun(options Options) (*run, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &run{Options: options, traces: map[string]map[types.UID]*trace{}, scaling: map[string]int32{}}
	r.result = Result{DryRun: options.DryRun, KeptState: options.KeepState, Namespaces: options.Namespaces}
	if r.Connection, err = installation.Connect(r.Config, scheme.Scheme); err != nil {
		return nil, err
	}
	r.client = r.Client
	if r.DryRun {
		r.client = client.NewDryRunClient(r.client)
	}
	r.client = client.WithFieldOwner(r.client, webhook.FieldManager)
	return r, nil
}

// walk takes the steps. While the API server does not answer, a step is taken
// again; not so the first, which may be told of a wrong server.
func (r *run) walk(ctx context.Context, steps []func(context.Context) error) error {
	for i, step := range steps {
		err := step(ctx)
		for try := 1; i > 0 && again(err) && (try < installation.MaxTries || !installation.Answered(err)) && ctx.Err() == nil; try++ {
			r.say("The API server does not answer, trying again: %v", err)
			if installation.Pause(ctx, installation.Backoff(try)) {
				err = step(ctx)
			}
		}
		switch {
		case ctx.Err() == nil && err != nil:
			return err
		case ctx.Err() != nil && (err == nil || errors.Is(err, ctx.Err())):
			return fmt.Errorf("%w: not done yet, run this again to go on", context.Cause(ctx))
		case ctx.Err() != nil:
			return fmt.Errorf("%w: not done yet (%v), run this again to go on", context.Cause(ctx), err) //nolint:errorlint // the cause is what counts
		}
	}
	return nil
}

// again tells whether a step failed only because the API server does not answer, or
// as somebody else has written meanwhile: a step reads what it writes.
func again(err error) bool {
	var broken *url.Error
	return installation.Answered(err) && installation.Transient(err) || apierrors.IsConflict(err) || errors.As(err, &broken)
}

// find finds the service. Objects may carry something of it also where it is gone.
func (r *run) find(ctx context.Context) error {
	found, err := installation.Find(ctx, r.client, r.Namespace)
	if errors.Is(err, installation.ErrNotFound) {
		r.note("No Dogear is in the cluster: only what one may have left is removed")
		return r.checkPlaces(ctx)
	}
	if err != nil {
		return installation.Unreached(r.Config.Host, err)
	}
	r.found, r.result.Namespace = found, found.Namespace
	r.say("Dogear is in namespace %s", found.Namespace)
	if found.Ledger != nil && !r.AllResources && !r.KeepState {
		if _, err := controller.LedgerKinds(found.Ledger); err != nil { // while all still runs
			return fmt.Errorf("%w, or run this with --all-resources", err)
		}
	}
	if err := r.checkPlaces(ctx); err != nil {
		return err
	}
	if err := r.lookBeside(); err != nil {
		return err
	}
	return r.lookElsewhere(ctx)
}

// lookBeside fails where another release runs in the same namespace.
func (r *run) lookBeside() error {
	own := r.found.Deployments[:0:0]
	for i := range r.found.Deployments {
		d := &r.found.Deployments[i]
		switch its := d.Labels[installation.ReleaseLabel]; {
		case r.Release == "" || its == r.Release:
			own = append(own, *d)
		case replicas(d) > 0:
			return fmt.Errorf("the Deployment %s/%s of release %q needs what would be removed, too: to remove release %q alone, use 'helm uninstall --no-hooks'", d.Namespace, d.Name, its, r.Release)
		}
	}
	r.found.Deployments = own
	return nil
}

// lookElsewhere fails where a controller runs in another namespace, as after a
// move or with a wrong namespace: it needs what would be removed. Without the
// rights to look there, as in the Job of the chart, the webhook configurations
// tell.
func (r *run) lookElsewhere(ctx context.Context) error {
	if r.confined() {
		return nil // there may be others
	}
	list := &appsv1.DeploymentList{}
	err := r.client.List(ctx, list, client.MatchingLabels{installation.ComponentLabel: installation.ComponentController})
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the Deployments in all namespaces: %w", err)
	}
	for i := range list.Items {
		if d := &list.Items[i]; d.Namespace != r.found.Namespace && replicas(d) > 0 {
			return fmt.Errorf("another Dogear runs in namespace %q, and needs what would be removed: did you mean -n %s? To remove one that is confined to some namespaces, name them with --namespaces", d.Namespace, d.Namespace)
		}
	}
	return nil
}

// keepState says what a move needs.
func (r *run) keepState(context.Context) error {
	if r.found == nil {
		return nil
	}
	n := r.found.Namespace
	r.note("All state is kept: finalizers and annotations of objects, the sets, and in namespace %s the ConfigMap %s (the ledger), the Lease %s (fencing numbers go on from it) "+
		"and the Secrets. Objects that are deleted wait for the next installation. For one in another namespace, copy the ConfigMap, the Lease and the Secret %s before it starts: see docs/uninstall.md",
		n, installation.Name, installation.Name, installation.Secrets()[2])
	return nil
}

func (r *run) say(format string, args ...any) { r.Report(Event{Text: fmt.Sprintf(format, args...)}) }

// would is how a dry run says that something is done.
func (r *run) would(did, would string) string {
	if r.DryRun {
		return would
	}
	return did
}

func (r *run) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(r.result.Notes, text) {
		r.result.Notes = append(r.result.Notes, text)
	}
}

func (r *run) leave(o Object, reason string) {
	r.result.Left = append(r.result.Left, Left{o, reason})
}
