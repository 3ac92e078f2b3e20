package uninstall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/installation"
)

// lookEvery is the time between two looks at what is waited for.
const lookEvery = 500 * time.Millisecond

// stop has the controllers and webhooks end, and waits until none is there: one
// that goes on would put finalizers back.
func (r *run) stop(ctx context.Context) error {
	if r.found == nil {
		return nil
	}
	deployments, err := r.deployments(ctx) // as they are now: this may not be the first try
	if err != nil {
		return err
	}
	for i := range deployments {
		if err := r.scaleDown(ctx, &deployments[i]); err != nil {
			return err
		}
	}
	if r.DryRun {
		return r.foretellLease(ctx)
	}
	if err := r.awaitPods(ctx); err != nil {
		return err
	}
	return r.awaitLease(ctx)
}

// deployments are those of the service, or of the release that is removed.
func (r *run) deployments(ctx context.Context) ([]appsv1.Deployment, error) {
	list := &appsv1.DeploymentList{}
	if err := r.client.List(ctx, list, r.components()...); err != nil {
		return nil, fmt.Errorf("list the Deployments in namespace %q: %w", r.found.Namespace, err)
	}
	slices.SortFunc(list.Items, func(a, b appsv1.Deployment) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// components selects the objects of all components.
func (r *run) components() []client.ListOption {
	options := []client.ListOption{client.InNamespace(r.found.Namespace), client.HasLabels{installation.ComponentLabel}}
	if r.Release != "" {
		options = append(options, client.MatchingLabels{installation.ReleaseLabel: r.Release})
	}
	return options
}

// scaleDown scales a Deployment to 0, once.
func (r *run) scaleDown(ctx context.Context, d *appsv1.Deployment) error {
	name := d.Namespace + "/" + d.Name
	before, tried := r.scaling[name]
	switch done := slices.Contains(r.result.Stopped, name); {
	case replicas(d) == 0 && tried && !done: // the answer got lost
		r.stopped(name, before)
		return nil
	case replicas(d) == 0, done && r.DryRun:
		return nil
	case done:
		return scaledUpAgain(d)
	}
	r.scaling[name] = replicas(d)
	none := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`))
	switch err := r.client.SubResource("scale").Patch(ctx, d.DeepCopy(), none, client.WithSubResourceBody(&autoscalingv1.Scale{})); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("scale the Deployment %s to 0: %w", name, err)
	}
	r.stopped(name, replicas(d))
	return nil
}

func (r *run) stopped(name string, before int32) {
	r.result.Stopped = append(r.result.Stopped, name)
	r.say("%s the Deployment %s from %d to 0", r.would("Scaled", "Would scale"), name, before)
}

// awaitPods waits until the Pods of all components are gone.
func (r *run) awaitPods(ctx context.Context) error {
	told := false
	for {
		left, err := r.pods(ctx)
		if err != nil {
			return err
		}
		if len(left) == 0 {
			return nil
		}
		if !told {
			r.say("Waiting for the end of the Pods %s", strings.Join(left, ", "))
			told = true
		}
		if err := r.staysDown(ctx); err != nil {
			return err
		}
		if !installation.Pause(ctx, lookEvery) {
			return fmt.Errorf("the Pods %s have not ended", strings.Join(left, ", "))
		}
	}
}

// pods lists the Pods of all components that may still run.
func (r *run) pods(ctx context.Context) (names []string, err error) {
	list := &corev1.PodList{}
	if err := r.client.List(ctx, list, r.components()...); err != nil {
		return nil, fmt.Errorf("list the Pods in namespace %q: %w", r.found.Namespace, err)
	}
	for i := range list.Items {
		if pod := &list.Items[i]; pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			names = append(names, pod.Namespace+"/"+pod.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// staysDown fails where somebody scales up what was scaled down.
func (r *run) staysDown(ctx context.Context) error {
	deployments, err := r.deployments(ctx)
	if err != nil {
		return err
	}
	for i := range deployments {
		if d := &deployments[i]; replicas(d) > 0 && d.DeletionTimestamp == nil {
			return scaledUpAgain(d)
		}
	}
	return nil
}

func scaledUpAgain(d *appsv1.Deployment) error {
	return fmt.Errorf("the Deployment %s/%s was scaled up again by somebody else: suspend what does so, such as a GitOps tool, and run this again", d.Namespace, d.Name)
}

func replicas(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}
