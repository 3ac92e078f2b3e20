package uninstall

import (
	"cmp"
	"errors"
	"slices"
)

// ErrLeft says that something could not be removed: the result lists it.
var ErrLeft = errors.New("something is left: mend what the reasons say, and run this again")

// ErrRights says that nothing was done, as rights are missing without which
// something would be left: the result lists it.
var ErrRights = errors.New("nothing was changed, as rights are missing for objects on which it may have left something: " +
	"give them, or run this as an administrator; --incomplete goes on nevertheless, and leaves them as they are")

// Result is what came of a run.
type Result struct {
	// Namespace is that of the service; empty: it was not found.
	Namespace string `json:"namespace,omitempty"`
	// Namespaces are those to which the run was confined; none: it was not.
	Namespaces []string `json:"namespaces"`
	// DryRun tells that all of this would be done, and nothing was.
	DryRun bool `json:"dryRun,omitempty"`
	// KeptState tells that objects, sets and the ledger stay as they were.
	KeptState bool `json:"keptState,omitempty"`
	// Done tells that the run came to its end, and nothing is left.
	Done bool `json:"done"`
	// Uncertain tells that nothing says which kinds were handled, so that objects
	// of others may be left.
	Uncertain bool `json:"uncertain,omitempty"`
	// Error is what ended the run.
	Error string `json:"error,omitempty"`
	// Stopped are the Deployments that were scaled to 0: namespace/name.
	Stopped []string `json:"stopped"`
	// Deleted are the objects of the service itself that are gone.
	Deleted []Object `json:"deleted"`
	// Resources are those whose objects were looked through, sets among them.
	Resources []Resource `json:"resources"`
	// Unfinished are objects in deletion that were released before their
	// Delete handlers had succeeded.
	Unfinished Unfinished `json:"unfinished"`
	// Left is all that could not be released or deleted.
	Left []Left `json:"left"`
	// Notes say what else there is to know.
	Notes []string `json:"notes"`
}

// listed makes lists of nothing empty ones, which scripts can go through.
func (r *Result) listed() {
	r.Stopped, r.Deleted = append([]string{}, r.Stopped...), append([]Object{}, r.Deleted...)
	r.Resources, r.Left = append([]Resource{}, r.Resources...), append([]Left{}, r.Left...)
	r.Notes, r.Namespaces = append([]string{}, r.Notes...), append([]string{}, r.Namespaces...)
	r.Unfinished.Objects = append([]Object{}, r.Unfinished.Objects...)
}

// Object names an object.
type Object struct {
	// Resource is as in leases.coordination.k8s.io.
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// String is as kubectl takes it for one argument, with the namespace before the name.
func (o Object) String() string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	if name == "" {
		return o.Resource
	}
	return o.Resource + " " + name
}

// Left is an object that could not be released or deleted; without a name, all
// objects of a resource that were not reached.
type Left struct {
	Object `json:",inline"`
	Reason string `json:"reason"`
}

// String is the object with the reason.
func (l Left) String() string { return l.Object.String() + ": " + l.Reason }

// Unfinished are objects in deletion.
type Unfinished struct {
	Total int `json:"total"`
	// Objects are the first of them, at most 20.
	Objects []Object `json:"objects"`
}

// maxNamed is how many unfinished objects are named.
const maxNamed = 20

func (u *Unfinished) add(o Object) {
	if u.Total++; len(u.Objects) < maxNamed {
		u.Objects = append(u.Objects, o)
	}
}

// Resource is what was done to the objects of a resource.
type Resource struct {
	// Resource is as in certificates.cert-manager.io.
	Resource string `json:"resource"`
	Version  string `json:"version"`
	// Objects is how many there are, or were.
	Objects int `json:"objects"`
	// Released is from how many a finalizer was taken, Cleaned from how many
	// annotations.
	Released int `json:"released"`
	Cleaned  int `json:"cleaned"`
	// Left is how many could not be written.
	Left int `json:"left"`
}

// sort brings what was found in the order of chance into one that is
// the same each time.
func (r *Result) sort() {
	slices.SortFunc(r.Resources, func(a, b Resource) int { return cmp.Compare(a.Resource, b.Resource) })
	slices.SortStableFunc(r.Left, func(a, b Left) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

func (r *Result) resource(t target) *Resource {
	for i := range r.Resources {
		if r.Resources[i].Resource == t.String() {
			return &r.Resources[i]
		}
	}
	r.Resources = append(r.Resources, Resource{Resource: t.String(), Version: t.gvr.Version})
	return &r.Resources[len(r.Resources)-1]
}
