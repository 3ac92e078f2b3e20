package uninstall

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/controller/installation"
)

// mayLook fails while all still works if objects could not be looked at on which
// something may be: to stop the service before would leave it half removed.
func (r *run) mayLook(ctx context.Context) error {
	if err := r.choose(ctx); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	if r.Incomplete {
		return nil
	}
	var refused []Left
	for _, t := range r.targets {
		for _, namespace := range r.places(t) {
			why, err := r.refusedIn(ctx, t, namespace)
			if err != nil {
				return err
			}
			if why != "" {
				refused = append(refused, Left{t.object(namespace, ""), why})
			}
		}
	}
	if refused == nil {
		return nil
	}
	r.result.Left = refused
	r.note("To give rights to the Job of the chart, and to the controller: %s", giving(refused))
	return ErrRights
}

// refusedIn tells why the objects of a target must not be listed; empty: they may
// be, or something else is wrong, which holds up no other.
func (r *run) refusedIn(ctx context.Context, t target, namespace string) (why string, err error) {
	if !t.holds {
		return "", nil
	}
	_, err = r.Metadata.Resource(t.gvr).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	switch {
	case apierrors.IsForbidden(err):
		return unlistable + installation.Reason(err), nil
	case err != nil && !installation.Answered(err):
		return "", fmt.Errorf("list %s%s: %w", t, in(namespace), err)
	}
	return "", nil
}

// giving are the commands that give the rights.
func giving(refused []Left) string {
	resources := map[string][]string{} // by namespace
	for _, l := range refused {
		resources[l.Namespace] = append(resources[l.Namespace], l.Resource)
	}
	var commands []string
	for _, namespace := range slices.Sorted(maps.Keys(resources)) {
		command := "dogear rbac " + strings.Join(resources[namespace], " ")
		if namespace != "" {
			command += " --namespace-role=" + namespace
		}
		commands = append(commands, command+" | kubectl apply -f -")
	}
	return strings.Join(commands, "; ")
}
