package subject

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const bareFinalizer = "bare." + Domain + "/finalizer"

// reconciler is the reference: what people write who do without Dogear. It
// notes in an annotation which generation of the object it has handled, and,
// where it takes several attempts, how many there were.
type reconciler struct {
	client.Client
	settings
	runs, looks atomic.Int64
}

// Reconcile makes one attempt on one Certificate.
func (r *reconciler) Reconcile(ctx context.Context, key ctrl.Request) (ctrl.Result, error) {
	r.looks.Add(1)
	certificate := &cmapi.Certificate{}
	if err := r.Get(ctx, key.NamespacedName, certificate); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	patch := client.MergeFrom(certificate.DeepCopy())
	if !certificate.DeletionTimestamp.IsZero() {
		if !controllerutil.RemoveFinalizer(certificate, bareFinalizer) {
			return ctrl.Result{}, nil
		}
		r.runs.Add(1)
		return ctrl.Result{}, client.IgnoreNotFound(r.Patch(ctx, certificate, patch))
	}
	handled, attempt := strconv.FormatInt(certificate.Generation, 10), 1
	if r.attempts > 1 {
		attempt, _ = strconv.Atoi(certificate.Annotations[bareAttempt])
		attempt++
	}
	if certificate.Annotations[BareHandled] == handled {
		return ctrl.Result{}, nil
	}
	if last, err := time.Parse(time.RFC3339Nano, certificate.Annotations[bareTried]); err == nil && time.Since(last) < r.delay {
		return ctrl.Result{RequeueAfter: r.delay - time.Since(last)}, nil
	}
	r.runs.Add(1)
	if certificate.Annotations == nil {
		certificate.Annotations = map[string]string{}
	}
	if r.finalizer {
		controllerutil.AddFinalizer(certificate, bareFinalizer)
	}
	result := ctrl.Result{}
	if attempt >= r.attempts {
		certificate.Annotations[BareHandled] = handled
		delete(certificate.Annotations, bareTried)
	} else {
		certificate.Annotations[bareAttempt] = strconv.Itoa(attempt)
		certificate.Annotations[bareTried] = time.Now().Format(time.RFC3339Nano)
		result.RequeueAfter = r.delay
	}
	return result, client.IgnoreNotFound(r.Patch(ctx, certificate, patch))
}

const (
	bareAttempt = "bare." + Domain + "/attempt"
	bareTried   = "bare." + Domain + "/tried"
)

func bare(s settings) (program, error) {
	scheme := runtime.NewScheme()
	if err := cmapi.AddToScheme(scheme); err != nil {
		return program{}, err
	}
	selector, err := labels.Parse(s.labels())
	if err != nil {
		return program{}, err
	}
	manager, err := ctrl.NewManager(s.config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{&cmapi.Certificate{}: {Label: selector}}},
	})
	if err != nil {
		return program{}, err
	}
	r := &reconciler{Client: manager.GetClient(), settings: s}
	err = ctrl.NewControllerManagedBy(manager).For(&cmapi.Certificate{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: s.workers}).Complete(r)
	return program{start: manager.Start, look: func() Answer {
		return Answer{Runs: r.runs.Load(), Objects: r.looks.Load()}
	}}, err
}
