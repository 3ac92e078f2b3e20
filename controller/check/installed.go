package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/dogear-dev/dogear/controller/installation"
)

// place is where Dogear is, and how it is set up.
type place struct {
	*installation.Installation
	settings settings
	// unset is why the settings are not known; nil: they are.
	unset error
}

// confined tells that Dogear works in some namespaces alone.
func (p *place) confined() bool { return len(p.settings.namespaces) > 0 }

// errNowhere says that there is nothing of Dogear.
var errNowhere = errors.New("there is nothing of Dogear")

// errUnnamed says that it is not known where to look.
var errUnnamed = errors.New("the namespace of the operator is not known: name it with -n")

func (r *round) installedChecks() []Check {
	return []Check{{Group: "installation", Name: "found", Link: "dogear-is-not-found", Essential: true, Run: r.installed}}
}

// place finds Dogear.
func (r *round) place(ctx context.Context) (*place, error) {
	return r.where.get(func() (*place, error) {
		if r.options.Domain != "" {
			return r.operator()
		}
		found, err := installation.Find(ctx, r.client, r.options.Namespace)
		switch {
		case errors.Is(err, installation.ErrNotFound):
			return nil, errNowhere
		case err != nil:
			return nil, err
		case found.Empty():
			return nil, fmt.Errorf("%w in namespace %s", errNowhere, found.Namespace)
		}
		p := &place{Installation: found}
		p.settings, p.unset = r.settings(ctx, found)
		return p, nil
	})
}

// operator is the place of one that was made with the SDK: nobody knows how it
// is set up.
func (r *round) operator() (*place, error) {
	if r.options.Namespace == "" {
		return nil, errUnnamed
	}
	return &place{
		Installation: &installation.Installation{Namespace: r.options.Namespace},
		settings:     unknown,
		unset:        errors.New("the settings of an operator are in its program"),
	}, nil
}

// settings reads those of the controller.
func (r *round) settings(ctx context.Context, found *installation.Installation) (settings, error) {
	values, err := found.Settings(ctx, r.client, wantedPaths()...)
	if err != nil {
		return unknown, err
	}
	return settingsOf(values), nil
}

func (r *round) installed(ctx context.Context) Result {
	p, err := r.place(ctx)
	switch {
	case errors.Is(err, errNowhere):
		return failed("%s", err).hint("install it: helm install dogear oci://ghcr.io/dogear-dev/charts/dogear --namespace dogear --create-namespace; " +
			"if it is elsewhere, name its namespace with -n")
	case apierrors.IsForbidden(err):
		return skipped("%s", err).hint("name the namespace with -n, and ask as somebody who may read in it")
	case err != nil:
		return failed("%s", err).hint("if there are several, name the namespace of one with -n; else see whether the API server is overloaded")
	}
	if len(p.Deployments) == 0 {
		return warned("namespace %s has the ledger, but no Deployment", p.Namespace).
			hint("if Dogear runs outside of the cluster, all is well; if it was removed, 'dogear uninstall' removes what it has left")
	}
	var names, releases []string
	for i := range p.Deployments {
		names = append(names, p.Deployments[i].Name)
		if release := p.Deployments[i].Labels[installation.ReleaseLabel]; release != "" && !slices.Contains(releases, release) {
			releases = append(releases, release)
		}
	}
	if len(releases) > 1 {
		return failed("namespace %s has Dogear several times, in the releases %s: they take the Lease and the webhook from each other", p.Namespace, strings.Join(releases, " and ")).
			about(names...).hint("uninstall the one that was not meant to be there: helm list -n %s", p.Namespace)
	}
	if p.Controller() == nil {
		return failed("namespace %s has %s, but no controller (label %s=%s)", p.Namespace, strings.Join(names, ", "), installation.ComponentLabel, installation.ComponentController).
			hint("helm upgrade dogear ...: without a controller nothing is handled")
	}
	where := ""
	if p.confined() {
		where = ", for the namespaces " + strings.Join(p.settings.namespaces, ", ")
	}
	result := passed("%s in namespace %s%s", strings.Join(names, " and "), p.Namespace, where)
	if p.unset != nil {
		result = result.about("how it is set up is not known: " + p.unset.Error())
	}
	return result
}

// deployments are those that were found; with none, the result says so.
func (r *round) deployments(ctx context.Context) ([]appsv1.Deployment, Result) {
	p, err := r.place(ctx)
	if err != nil {
		return nil, r.unread(err)
	}
	if len(p.Deployments) == 0 {
		return nil, skipped("there is no Deployment")
	}
	return p.Deployments, Result{}
}
