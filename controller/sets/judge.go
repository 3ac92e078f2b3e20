package sets

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/sets/expression"
)

// Cleanup is the finalizer of sets: it goes when nothing of their handlers is
// left on any object.
const Cleanup = "dogear.dev/cleanup"

// finding is a condition of a set that has been looked at.
type finding struct {
	condition string
	status    metav1.ConditionStatus
	reason    string
	message   string
}

// verdict is what is made of one set.
type verdict struct {
	set      v1alpha1.AnySet
	findings []finding
	// resource is how the objects are reached, if need be in another version
	// than the set names; nil: not at all.
	resource *resource
	// served tells that resource is in the set's version.
	served bool
	// unserved tells that the API server says that there is no such resource,
	// in whatever version.
	unserved bool
	// decides tells that the set may decide for others, too, which version of
	// the resource counts.
	decides bool
	// usable tells that the set is declared as it says.
	usable bool
	// unwatchable tells that the rights to hold objects are missing.
	unwatchable bool
	// unreadable is what of the endpoints may not be read; empty: nothing.
	unreadable string
	// stalled tells that only a person can mend what is wrong.
	stalled bool
	// defaults tells that those of the set may be filled in.
	defaults      bool
	registrations []handler.Registration
	// removing are the IDs of handlers that the set no longer has.
	removing []string
	// undeclared is why the engine has not taken what the sets say, this one
	// among them.
	undeclared error
}

func (v *verdict) find(condition string, status metav1.ConditionStatus, reason, message string, args ...any) {
	if len(args) > 0 {
		message = fmt.Sprintf(message, args...)
	}
	v.findings = append(v.findings, finding{condition, status, reason, message})
}

// verdicts are what is made of all sets, and what was declared of it.
type verdicts struct {
	sets        []*verdict
	declaration controller.Declaration
	declared    bool // the engine has taken it
}

// list returns all sets in the order in which they count: ClusterHandlerSets
// go first, each by name.
func (s *Service) list(ctx context.Context) ([]v1alpha1.AnySet, error) {
	cluster, namespaced := &v1alpha1.ClusterHandlerSetList{}, &v1alpha1.HandlerSetList{}
	if !s.confined() {
		if err := s.cached.List(ctx, cluster); err != nil {
			return nil, fmt.Errorf("list ClusterHandlerSets: %w", err)
		}
	}
	if err := s.cached.List(ctx, namespaced); err != nil {
		return nil, fmt.Errorf("list HandlerSets: %w", err)
	}
	all := make([]v1alpha1.AnySet, 0, len(cluster.Items)+len(namespaced.Items))
	for i := range cluster.Items {
		all = append(all, &cluster.Items[i])
	}
	for i := range namespaced.Items {
		all = append(all, &namespaced.Items[i])
	}
	slices.SortFunc(all, func(a, b v1alpha1.AnySet) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all, nil
}

// declare looks at all sets and declares what they say.
func (s *Service) declare(ctx context.Context) {
	all, err := s.list(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Error(err, "The sets cannot be read, will retry")
		}
		return
	}
	now := s.judge(ctx, all)
	if ctx.Err() != nil {
		return
	}
	before := s.judged.Load()
	now.declared = before != nil && before.declared && same(before.declaration, now.declaration)
	if !now.declared {
		if err := s.op.Declare(now.declaration); err != nil {
			s.log.Error(err, "The sets cannot be declared: what was declared before stays in force")
			for _, v := range now.sets {
				v.undeclared = err
			}
		} else {
			now.declared = true
			s.endpoints.keep(now.sets)
		}
	}
	s.judged.Store(now)
	poke(s.synced)
}

func (s *Service) judge(ctx context.Context, all []v1alpha1.AnySet) *verdicts {
	out := &verdicts{declaration: controller.Declaration{Removals: map[schema.GroupVersionKind]controller.Removal{}}}
	for _, set := range all {
		v := &verdict{set: set, removing: removing(set)}
		s.judgeResource(ctx, v)
		s.judgeSet(ctx, v)
		out.sets = append(out.sets, v)
	}
	out.agree()
	owners := places{}
	for _, v := range out.sets {
		// Without rights nothing can be held, and the watch would wait for them.
		if !v.usable && !v.unwatchable && v.set.GetDeletionTimestamp() == nil {
			v.registrations = s.placeholders(v)
		}
		owners.judge(v)
		out.declaration.Registrations = append(out.declaration.Registrations, v.registrations...)
	}
	out.declare()
	return out
}

// declare adds to the declaration what objects have to be rid of, and what has
// to stay on them.
func (all *verdicts) declare() {
	handled := map[schema.GroupKind]bool{}
	for _, v := range all.sets {
		if v.resource == nil {
			// Whatever it is called: its finalizers must not go by mistake.
			all.declaration.KeepAll = all.declaration.KeepAll || !v.unserved
			continue
		}
		all.declaration.Keep = append(all.declaration.Keep, v.resource.kind.GroupKind())
		if v.set.GetDeletionTimestamp() == nil && len(v.set.Declared().Handlers) > 0 {
			handled[v.resource.kind.GroupKind()] = true
		}
	}
	everywhere := map[schema.GroupVersionKind]bool{}
	for _, v := range all.sets {
		if v.resource == nil || len(v.removing) == 0 {
			continue
		}
		removal := all.declaration.Removals[v.resource.kind]
		if namespace := v.set.GetNamespace(); namespace == "" {
			everywhere[v.resource.kind], removal.Namespaces = true, nil
		} else if !everywhere[v.resource.kind] && !slices.Contains(removal.Namespaces, namespace) {
			removal.Namespaces = append(removal.Namespaces, namespace)
		}
		for _, id := range v.removing {
			removal.IDs = append(removal.IDs, v1alpha1.HandlerID(v.set, id))
		}
		removal.All = !handled[v.resource.kind.GroupKind()]
		all.declaration.Removals[v.resource.kind] = removal
	}
}

// judgeSet looks at one set whose resource was looked up.
func (s *Service) judgeSet(ctx context.Context, v *verdict) {
	if v.set.GetDeletionTimestamp() != nil {
		s.judgeRights(ctx, v) // the removal needs them
		return
	}
	valid := s.judgeSpec(v) && v.served
	v.defaults = valid && s.judgeDefaults(ctx, v)
	s.judgePlaces(ctx, v)
	permitted := s.judgePermission(ctx, v)
	if !valid || permitted == metav1.ConditionFalse {
		return
	}
	s.judgeEndpointRights(ctx, v)
	registrations, err := s.registrations(v)
	if err == nil {
		err = s.op.Check(registrations)
	}
	if err != nil {
		v.stalled = true
		v.find(v1alpha1.ConditionReady, metav1.ConditionFalse, "Invalid", "%s", err)
		return
	}
	v.decides = true // also while nobody says whether there are the rights
	if permitted == metav1.ConditionTrue {
		v.registrations, v.usable = registrations, true
	}
}

// judgeResource finds out whether the API server serves the resource.
func (s *Service) judgeResource(ctx context.Context, v *verdict) {
	r, err := s.served.find(ctx, v.set.Declared().Resource.GroupVersionResource())
	v.resource = r
	switch {
	case err == nil:
		v.served = true
		v.find(v1alpha1.ConditionResourceServed, metav1.ConditionTrue, "Served", "the API server serves %s", r.kind)
	case isMissing(err):
		v.unserved = r == nil
		v.find(v1alpha1.ConditionResourceServed, metav1.ConditionFalse, "NotServed", "%s", err)
	default:
		v.find(v1alpha1.ConditionResourceServed, metav1.ConditionUnknown, "DiscoveryFailed", "%s", err)
	}
}

// judgeSpec finds out what of the set cannot be used. The API server has
// refused most of that already, but not where no webhook was up.
func (s *Service) judgeSpec(v *verdict) bool {
	problems := v1alpha1.Validate(v.set, expression.Check)
	if len(problems) == 0 {
		return true
	}
	v.stalled = true
	v.find(v1alpha1.ConditionReady, metav1.ConditionFalse, "Invalid", "%s", problems.ToAggregate())
	return false
}

// judgePermission finds out whether the settings allow what the set names, and
// whether this process has the rights for it.
func (s *Service) judgePermission(ctx context.Context, v *verdict) metav1.ConditionStatus {
	spec := v.set.Declared()
	if err := s.settings.PermitResource(spec.Resource.GroupResource(), v.set.GetNamespace() != ""); err != nil {
		v.stalled = true
		v.find(v1alpha1.ConditionPermitted, metav1.ConditionFalse, "NotAllowed", "%s", err)
		return metav1.ConditionFalse
	}
	for i := range spec.Handlers {
		if url := spec.Handlers[i].HTTP.URL; url != "" {
			if err := s.settings.PermitURL(url); err != nil {
				v.stalled = true
				v.find(v1alpha1.ConditionPermitted, metav1.ConditionFalse, "URLNotAllowed", "handler %q: %s", spec.Handlers[i].ID, err)
				return metav1.ConditionFalse
			}
		}
	}
	if v.resource == nil {
		return metav1.ConditionFalse
	}
	if v.set.GetNamespace() != "" && !v.resource.namespaced {
		v.stalled = true
		v.find(v1alpha1.ConditionPermitted, metav1.ConditionFalse, "NotNamespaced", "objects of %s are in no namespace: use a ClusterHandlerSet", v.resource.name.GroupResource())
		return metav1.ConditionFalse
	}
	status := s.judgeRights(ctx, v)
	if status == metav1.ConditionTrue {
		v.find(v1alpha1.ConditionPermitted, metav1.ConditionTrue, "Permitted", "the settings and rights of this installation allow what the set names")
	}
	return status
}

// judgeRights finds out whether this process has the rights for the handlers
// of a set and for the removal of those that it no longer has.
func (s *Service) judgeRights(ctx context.Context, v *verdict) metav1.ConditionStatus {
	if v.resource == nil || len(v.set.Declared().Handlers)+len(v.removing) == 0 || !s.controls() {
		return metav1.ConditionTrue
	}
	missing, err := s.rights.missing(ctx, v)
	switch {
	case err != nil:
		v.find(v1alpha1.ConditionPermitted, metav1.ConditionUnknown, "ReviewFailed", "%s", err)
		return metav1.ConditionUnknown
	case len(missing) > 0:
		v.unwatchable = slices.ContainsFunc(missing, func(r Right) bool { return r.Subresource == "" })
		v.find(v1alpha1.ConditionPermitted, metav1.ConditionFalse, rightsMissing, "%s", rightsMessage(v, missing, s.rightsFor(v)...))
		return metav1.ConditionFalse
	}
	return metav1.ConditionTrue
}

// removing lists the handlers that have to be removed from objects: those in
// the status that the set no longer has, or all when it is being deleted.
func removing(set v1alpha1.AnySet) (ids []string) {
	for _, h := range set.Observed().Handlers {
		if set.GetDeletionTimestamp() != nil || handlerOf(set, h.ID) == nil {
			ids = append(ids, h.ID)
		}
	}
	return ids
}

func handlerOf(set v1alpha1.AnySet, id string) *v1alpha1.Handler {
	handlers := set.Declared().Handlers
	for i := range handlers {
		if handlers[i].ID == id {
			return &handlers[i]
		}
	}
	return nil
}

// known tells whether the status has the handler in force already. Before
// that, it must not leave anything on objects: who would know of it?
func known(set v1alpha1.AnySet, id string) bool {
	return slices.Contains(set.GetFinalizers(), Cleanup) && listed(set, id)
}

// listed tells whether the status has a handler.
func listed(set v1alpha1.AnySet, id string) bool {
	return slices.ContainsFunc(set.Observed().Handlers, func(h v1alpha1.HandlerStatus) bool { return h.ID == id })
}

func nameOf(set v1alpha1.AnySet) string {
	if set.GetNamespace() == "" {
		return "ClusterHandlerSet " + set.GetName()
	}
	return "HandlerSet " + set.GetNamespace() + "/" + set.GetName()
}

// same tells whether two declarations do the same.
func same(a, b controller.Declaration) bool {
	return slices.EqualFunc(a.Registrations, b.Registrations, func(a, b handler.Registration) bool {
		return a.Spec.ID == b.Spec.ID && a.Version == b.Version
	}) && fmt.Sprint(a.Removals, a.Keep, a.KeepAll) == fmt.Sprint(b.Removals, b.Keep, b.KeepAll)
}
