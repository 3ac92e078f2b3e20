package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/installation"
)

// namespacesSetting is where the service is told in which namespaces it works.
const namespacesSetting = "namespaces"

// wrongNamespace finds what is no name of a namespace. Above all that is an empty
// text, which stands for all namespaces to the API server.
func wrongNamespace(names []string) (wrong string, ok bool) {
	for _, name := range names {
		if len(validation.IsDNS1123Label(name)) > 0 {
			return name, false
		}
	}
	return "", true
}

// CheckNamespaces is an error where names cannot be those of namespaces.
func CheckNamespaces(names []string) error {
	if name, ok := wrongNamespace(names); !ok {
		return fmt.Errorf("%q is no name of a namespace", name)
	}
	return nil
}

// confined tells that only some namespaces are looked into.
func (r *run) confined() bool { return len(r.Namespaces) > 0 }

// checkPlaces fails where the namespaces of a confined run are not those of the
// service: what is left in another one would wait for ever, once the ledger is gone.
func (r *run) checkPlaces(ctx context.Context) error {
	if !r.confined() {
		return nil
	}
	if err := r.checkLedger(); err != nil {
		return err
	}
	its, known, err := r.worksIn(ctx)
	if err != nil {
		return err
	}
	var missing []string
	for _, name := range its {
		if !slices.Contains(r.Namespaces, name) {
			missing = append(missing, name)
		}
	}
	switch {
	case !known:
		r.note("How Dogear was set up is not known: what it may have left in other namespaces than %s stays", strings.Join(r.Namespaces, ", "))
	case len(its) == 0:
		return fmt.Errorf("the Dogear in namespace %q works in the whole cluster: run this without --namespaces", r.found.Namespace)
	case len(missing) > 0:
		return fmt.Errorf("the Dogear in namespace %q works in %s, too, where objects would be left that nobody could delete: name all of its namespaces, --namespaces=%s",
			r.found.Namespace, strings.Join(missing, ", "), strings.Join(its, ","))
	}
	return r.checkExist(ctx, its)
}

// checkLedger fails where the service has worked in the whole cluster before it was
// confined: its ledger tells, as no handler of a ClusterHandlerSet is entered since.
func (r *run) checkLedger() error {
	if r.Incomplete {
		return nil
	}
	for _, h := range r.handlers() {
		if h.namespace == "" {
			return fmt.Errorf("the ledger has the handler %s of a ClusterHandlerSet, so that this Dogear has worked in the whole cluster, where objects would be left that nobody could delete: "+
				"run this without --namespaces, as an administrator, or with --incomplete, if it is known that none are", h.id)
		}
	}
	return nil
}

// elsewhere are the namespaces of sets in the ledger that a confined run does not
// look into.
func (r *run) elsewhere() (namespaces []string) {
	for _, h := range r.handlers() {
		if r.confined() && h.namespace != "" && !slices.Contains(r.Namespaces, h.namespace) {
			namespaces = append(namespaces, h.namespace)
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// handled is a handler in the ledger, and the namespace of its set.
type handled struct{ id, namespace string }

func (r *run) handlers() (all []handled) {
	if r.found == nil || r.found.Ledger == nil {
		return nil
	}
	ids, err := controller.LedgerHandlers(r.found.Ledger)
	if err != nil {
		return nil // who cannot do without it says so
	}
	for _, id := range ids {
		h := handled{id: id}
		if namespace, set, _ := strings.Cut(id, "/"); strings.Contains(set, "/") {
			h.namespace = namespace
		}
		all = append(all, h)
	}
	return all
}

// worksIn are the namespaces of the service; none: the whole cluster. They are not
// known where the service is gone, or runs elsewhere.
func (r *run) worksIn(ctx context.Context) (namespaces []string, known bool, err error) {
	if r.found == nil {
		return nil, false, nil
	}
	settings, err := r.found.Settings(ctx, r.Client, namespacesSetting)
	if errors.Is(err, installation.ErrNoSettings) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("compare --namespaces with those in which Dogear works: %w", err)
	}
	return settings[namespacesSetting], true, nil
}

// checkExist fails where a namespace is not there, as with a typing error, unless
// the service is set up for it. Whoever may not look is told in the end which
// objects cannot be listed.
func (r *run) checkExist(ctx context.Context, its []string) error {
	for _, name := range r.Namespaces {
		if slices.Contains(its, name) {
			continue
		}
		switch err := r.client.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{}); {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("there is no namespace %q: see --namespaces", name)
		case err != nil && !apierrors.IsForbidden(err):
			return fmt.Errorf("read the namespace %s: %w", name, err)
		}
	}
	return nil
}

// places are the namespaces in which objects are looked for; an empty one
// stands for all.
func (r *run) places(t target) []string {
	if r.confined() && t.namespaced {
		return r.Namespaces
	}
	return []string{""}
}

func in(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace
}
