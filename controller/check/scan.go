package check

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/storage"
)

const (
	// stuckAfter is for how long an object may be in deletion with our finalizer.
	stuckAfter     = 10 * time.Minute
	stuckAfterText = "10 minutes"
	// mostScanned is how many objects of a resource are looked at.
	mostScanned = 20000
)

// scan is what is on the objects of a resource: their metadata is read, page by
// page, and no more.
type scan struct {
	err       error
	more      bool     // there are objects that were not looked at
	held      []string // by our finalizer
	heldCount int
	stuck     []string
	waiting   []string // stuck, but waiting for what takes its time
	failed    []string
}

// scan looks at the objects of a kind.
func (r *round) scan(ctx context.Context, kind schema.GroupVersionKind, namespaces []string) *scan {
	if s := r.scans[kind]; s != nil {
		return s
	}
	s := &scan{}
	if r.scans == nil {
		r.scans = map[schema.GroupVersionKind]*scan{}
	}
	r.scans[kind] = s
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	n := 0
	for _, namespace := range namespaces {
		s.err = r.pages(ctx, list, func() bool {
			for i := range list.Items {
				s.look(&list.Items[i], kind.Kind, r.prefix, r.options.Clock.Now())
			}
			n += len(list.Items)
			s.more = n >= mostScanned
			return !s.more
		}, client.InNamespace(namespace))
		if s.err != nil || s.more {
			break
		}
	}
	return s
}

func (s *scan) look(o *metav1.PartialObjectMetadata, kind string, prefix storage.Prefix, now time.Time) {
	name := kind + " " + keyOf(o)
	if o.Annotations[prefix.Key(storage.KeyState)] == string(storage.Failed) {
		s.failed = append(s.failed, name+failureOn(o, prefix))
	}
	if !slices.Contains(o.Finalizers, prefix.Finalizer()) {
		return
	}
	if s.heldCount++; len(s.held) < maxObjects {
		s.held = append(s.held, name)
	}
	if o.DeletionTimestamp == nil || now.Sub(o.DeletionTimestamp.Time) < stuckAfter {
		return
	}
	why, patient := awaited(o, prefix)
	text := fmt.Sprintf("%s, in deletion for %s: %s", name, span(now.Sub(o.DeletionTimestamp.Time)), why)
	if patient {
		s.waiting = append(s.waiting, text)
	} else {
		s.stuck = append(s.stuck, text)
	}
}

// failureOn says which handlers have failed for good on an object, and why.
func failureOn(o *metav1.PartialObjectMetadata, prefix storage.Prefix) string {
	marker, err := prefix.Read(o.Annotations)
	if err != nil || marker.Progress == nil {
		return ""
	}
	var texts []string
	for _, id := range slices.Sorted(maps.Keys(marker.Progress.Handlers)) {
		if record := marker.Progress.Handlers[id]; record.State == storage.Failed {
			texts = append(texts, id+detail(record))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return ": " + strings.Join(texts, "; ")
}

// detail is what a handler has said, after a colon.
func detail(record storage.Record) (text string) {
	for _, part := range []string{record.Reason, record.Message} {
		if part != "" {
			text += ": " + part
		}
	}
	return text
}

// awaited says what an object in deletion waits for; patient tells that it is as
// somebody wants it to be.
func awaited(o *metav1.PartialObjectMetadata, prefix storage.Prefix) (why string, patient bool) {
	marker, err := prefix.Read(o.Annotations)
	switch {
	case err != nil:
		return err.Error(), false
	case marker.Paused:
		return "it is paused (annotation " + prefix.Key(storage.KeyPaused) + ")", true
	case marker.Progress == nil:
		return "no handler has a record on it: nobody is at work", false
	}
	patient = true
	var texts []string
	for _, id := range slices.Sorted(maps.Keys(marker.Progress.Handlers)) {
		record := marker.Progress.Handlers[id]
		if record.State.Finished() {
			continue
		}
		patient = patient && record.State == storage.Waiting
		text := fmt.Sprintf("handler %s is %s", id, record.State)
		if record.Attempts > 0 {
			text += fmt.Sprintf(" after %d attempts", record.Attempts)
		}
		if detail := strings.TrimSpace(record.Reason + " " + record.Message); detail != "" {
			text += " (" + detail + ")"
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return "all handlers have finished, but the finalizer is still there", false
	}
	return strings.Join(texts, "; "), patient
}

// scanned are the scans of all resources that are declared, and what could not
// be looked at.
func (r *round) scanned(ctx context.Context) (scans []*scan, unseen []string, err error) {
	declared, err := r.declared(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, res := range declared {
		if res.err != nil {
			unseen = append(unseen, fmt.Sprintf("%s: %s", res, res.err))
			continue
		}
		s := r.scan(ctx, res.kind, res.namespaces())
		if s.err != nil {
			unseen = append(unseen, s.err.Error())
			continue
		}
		if s.more {
			unseen = append(unseen, fmt.Sprintf("%s: only the first %d objects were looked at", res, mostScanned))
		}
		scans = append(scans, s)
	}
	return scans, unseen, nil
}

// namespaces are where objects of a resource may be handled.
func (res *resource) namespaces() (all []string) {
	for _, set := range res.sets {
		if set.GetNamespace() == "" {
			return []string{metav1.NamespaceAll}
		}
		all = append(all, set.GetNamespace())
	}
	if len(all) == 0 {
		return []string{metav1.NamespaceAll}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ledger are the kinds on whose objects Dogear may have left finalizers.
func (r *round) ledger(ctx context.Context) (kinds []schema.GroupVersionKind, err error) {
	p, err := r.place(ctx)
	if err != nil {
		return nil, err
	}
	stored := p.Ledger
	if stored == nil {
		stored = &corev1.ConfigMap{}
		if err := r.client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: string(r.prefix)}, stored); apierrors.IsNotFound(err) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	return controller.LedgerKinds(stored)
}
