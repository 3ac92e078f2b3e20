package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/webhook"
)

// ErrLeft says that objects could not be rewritten: the result lists them.
var ErrLeft = errors.New("some objects are still stored in an older version: mend what the reasons say, and run this again")

// Options of a run.
type Options struct {
	// Config is how to reach the API server. Required.
	Config *rest.Config
	// CRDs are the names of those whose objects are brought up to date.
	// Default: Dogear's.
	CRDs []string
	// Report hears what happens; nil: nobody does.
	Report func(string)
}

// CRDs are those of Dogear.
func CRDs() []string { return []string{"clusterhandlersets.dogear.dev", "handlersets.dogear.dev"} }

// Result is what came of a run.
type Result struct {
	// Done tells that all objects are stored as their CRD says.
	Done bool `json:"done"`
	// Error is what ended the run.
	Error string `json:"error,omitempty"`
	CRDs  []CRD  `json:"crds"`
}

// CRD is what was done for one of them.
type CRD struct {
	Name string `json:"name"`
	// Missing tells that it is not in the cluster.
	Missing bool `json:"missing,omitempty"`
	// Version is that in which objects are stored, StoredVersions those in which
	// some may have been stored before the run.
	Version        string   `json:"version,omitempty"`
	StoredVersions []string `json:"storedVersions"`
	// Objects is how many there are, and Rewritten how many are known to have
	// been stored anew. They are not counted where there was nothing to do.
	Objects   int    `json:"objects"`
	Rewritten int    `json:"rewritten"`
	Left      []Left `json:"left"`
}

// Left is an object that could not be rewritten.
type Left struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`
}

// run is one in progress.
type run struct {
	Options
	*installation.Connection
}

// Run rewrites the objects of CRDs that may be stored in an older version, and
// then says so in the CRD's status. Nothing to do is a success. The result tells
// what was done also where it ends with an error.
func Run(ctx context.Context, options Options) (*Result, error) {
	if options.Config != nil {
		options.Config = installation.Until(ctx, options.Config)
	}
	r, err := newRun(options)
	if err != nil {
		return nil, err
	}
	result := &Result{CRDs: []CRD{}}
	for _, name := range r.CRDs {
		crd := CRD{Name: name}
		err := installation.Unreached(r.Config.Host, r.migrate(ctx, &crd))
		crd.StoredVersions, crd.Left = append([]string{}, crd.StoredVersions...), append([]Left{}, crd.Left...)
		result.CRDs = append(result.CRDs, crd)
		if err != nil {
			if ctx.Err() != nil {
				err = fmt.Errorf("%w: not done yet (%v), run this again to go on", context.Cause(ctx), err) //nolint:errorlint // the cause is what counts
			}
			result.Error = err.Error()
			return result, err
		}
	}
	if slices.ContainsFunc(result.CRDs, func(c CRD) bool { return len(c.Left) > 0 }) {
		result.Error = ErrLeft.Error()
		return result, ErrLeft
	}
	result.Done = true
	return result, nil
}

func newRun(o Options) (*run, error) {
	if o.Config == nil {
		return nil, errors.New("Config is nil: set it to that of the API server") //nolint:staticcheck // the name of a field
	}
	if o.CRDs == nil {
		o.CRDs = CRDs()
	}
	if o.Report == nil {
		o.Report = func(string) {}
	}
	kinds := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(kinds); err != nil {
		return nil, err
	}
	connection, err := installation.Connect(o.Config, kinds)
	if err != nil {
		return nil, err
	}
	return &run{o, connection}, nil
}

// maxRounds is how often it is begun anew for a CRD that changes meanwhile.
const maxRounds = 5

// migrate does it for one CRD.
func (r *run) migrate(ctx context.Context, result *CRD) error {
	for range maxRounds {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		err := r.Client.Get(ctx, client.ObjectKey{Name: result.Name}, crd)
		if apierrors.IsNotFound(err) {
			result.Missing = true
			r.say("%s is not in the cluster: nothing to do", result.Name)
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the CRD %s: %w", result.Name, err)
		}
		result.Version = storageVersion(crd)
		if result.StoredVersions == nil {
			result.StoredVersions = slices.Clone(crd.Status.StoredVersions)
		}
		if slices.Equal(crd.Status.StoredVersions, []string{result.Version}) {
			r.say("%s: all objects are stored as %s", crd.Name, result.Version)
			return nil
		}
		r.say("%s: objects may be stored as %s, and should be as %s", crd.Name, strings.Join(crd.Status.StoredVersions, ", "), result.Version)
		if err := r.awaitVersion(ctx, crd, result.Version); err != nil {
			return err
		}
		if err := r.rewriteAll(ctx, crd, result); err != nil || len(result.Left) > 0 {
			return err
		}
		if err := r.cut(ctx, crd, result.Version); !apierrors.IsInvalid(err) {
			return err
		} // somebody has changed the CRD: what was just done may not be enough
	}
	return fmt.Errorf("the CRD %s keeps changing: run this again when that is over", result.Name)
}

// storageVersion is the version in which the API server stores objects.
func storageVersion(crd *apiextensionsv1.CustomResourceDefinition) string {
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Storage {
			return crd.Spec.Versions[i].Name
		}
	}
	return "" // the API server takes no CRD without
}

// cut leaves the one version in the status. It fails as invalid where the list or
// the CRD is not what it was when the objects were rewritten.
func (r *run) cut(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string) error {
	body, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": crd.UID},
		{"op": "test", "path": "/metadata/generation", "value": crd.Generation},
		{"op": "test", "path": "/status/storedVersions", "value": crd.Status.StoredVersions},
		{"op": "replace", "path": "/status/storedVersions", "value": []string{version}},
	})
	if err != nil {
		return fmt.Errorf("encode the patch: %w", err)
	}
	patch := client.RawPatch(types.JSONPatchType, body)
	if err := r.Client.Status().Patch(ctx, crd.DeepCopy(), patch, client.FieldOwner(webhook.FieldManager)); err != nil {
		return fmt.Errorf("write the status of the CRD %s: %w", crd.Name, err)
	}
	r.say("%s: status.storedVersions is %s", crd.Name, version)
	return nil
}

func (r *run) say(format string, args ...any) { r.Report(fmt.Sprintf(format, args...)) }
