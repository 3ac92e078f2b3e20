package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/selection"
)

// ledger is what an operator remembers about itself, in a ConfigMap: since
// when it has each handler, and on which kinds it has left finalizers.
type ledger struct {
	Handlers map[string]time.Time `json:"handlers"`
	Kinds    []string             `json:"kinds,omitempty"` // "kind.version.group"

	unstored bool // it could not be written as it is
}

const ledgerKey = "ledger.json"

// enterLedger reads the ledger, enters what is new and stores it. Without the
// rights to do so there is only a warning, unless a handler depends on it.
func (op *Operator) enterLedger(ctx context.Context, sets []*selection.Set) error {
	op.ledgering.Lock()
	defer op.ledgering.Unlock()
	now := op.options.Clock.Now()
	if l := op.ledger.Load(); l != nil && !l.unstored && !l.clone().enter(sets, now) {
		return nil
	}
	l, err := op.syncLedger(ctx, func(l *ledger) { l.enter(sets, now) })
	if err == nil {
		op.ledger.Store(l)
		return nil
	}
	for _, set := range sets {
		for _, h := range set.Handlers {
			if h.Spec.Existing == handler.AdoptExisting {
				return fmt.Errorf("handler %q adopts older objects, but the ledger that tells which are older cannot be kept: %w", h.Spec.ID, err)
			}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	op.options.Log.Info("The ledger cannot be kept: if a later release has no handlers for a kind any more, it won't release its finalizers by itself", "error", err.Error())
	l = &ledger{Handlers: map[string]time.Time{}}
	if before := op.ledger.Load(); before != nil {
		l = before.clone()
	}
	l.enter(sets, now)
	l.unstored = true // the next declaration tries again
	op.ledger.Store(l)
	return nil
}

// strike takes handlers off the ledger that are no more.
func (op *Operator) strike(ctx context.Context, ids []string) error {
	return op.changeLedger(ctx, func(l *ledger, now *declared) {
		declared := map[string]bool{}
		for _, set := range now.sets {
			for _, h := range set.Handlers {
				declared[h.Spec.ID] = true
			}
		}
		for _, id := range ids {
			if !declared[id] {
				delete(l.Handlers, id)
			}
		}
	})
}

// strikeKind takes a kind off the ledger on which no finalizer is left.
func (op *Operator) strikeKind(ctx context.Context, gvk schema.GroupVersionKind) error {
	return op.changeLedger(ctx, func(l *ledger, now *declared) {
		if !now.known()[gvk.GroupKind()] {
			l.Kinds = slices.DeleteFunc(l.Kinds, func(name string) bool { return name == kindName(gvk) })
		}
	})
}

func (op *Operator) changeLedger(ctx context.Context, change func(*ledger, *declared)) error {
	op.ledgering.Lock()
	defer op.ledgering.Unlock()
	now, _ := op.current()
	l, err := op.syncLedger(ctx, func(l *ledger) { change(l, now) })
	if err == nil {
		op.ledger.Store(l)
	}
	return err
}

// syncLedger changes the stored ledger; nothing is written without a change.
func (op *Operator) syncLedger(ctx context.Context, change func(*ledger)) (*ledger, error) {
	for {
		stored := &corev1.ConfigMap{}
		key := client.ObjectKey{Namespace: op.options.Namespace, Name: op.name()}
		err := op.client.Get(ctx, key, stored)
		fresh := apierrors.IsNotFound(err)
		if err != nil && !fresh {
			return nil, fmt.Errorf("read the ConfigMap %s: %w", key, err)
		}
		l := &ledger{}
		before := stored.Data[ledgerKey]
		if before != "" {
			if err := json.Unmarshal([]byte(before), l); err != nil {
				return nil, fmt.Errorf("ConfigMap %s: %s is no valid JSON: mend or delete it", key, ledgerKey)
			}
		}
		if l.Handlers == nil {
			l.Handlers = map[string]time.Time{}
		}
		change(l)
		after, err := json.Marshal(l)
		if err != nil {
			return nil, fmt.Errorf("encode the ledger: %w", err)
		}
		if string(after) == before {
			return l, nil
		}
		stored.Data = map[string]string{ledgerKey: string(after)}
		if fresh {
			stored.ObjectMeta = metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}
			err = op.client.Create(ctx, stored, client.FieldOwner(fieldManager))
		} else {
			err = op.client.Update(ctx, stored, client.FieldOwner(fieldManager))
		}
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("write the ConfigMap %s: %w", key, err)
		}
		return l, nil
	}
}

func (l *ledger) clone() *ledger {
	return &ledger{Handlers: maps.Clone(l.Handlers), Kinds: slices.Clone(l.Kinds)}
}

// enter adds what is not there, and tells whether there was anything.
func (l *ledger) enter(sets []*selection.Set, now time.Time) (entered bool) {
	for _, set := range sets {
		for _, h := range set.Handlers {
			if _, ok := l.Handlers[h.Spec.ID]; !ok {
				l.Handlers[h.Spec.ID] = now.UTC().Truncate(time.Second)
				entered = true
			}
			if name := kindName(set.Kind); h.Spec.On&handler.Delete != 0 && !slices.Contains(l.Kinds, name) {
				l.Kinds = append(l.Kinds, name)
				entered = true
			}
		}
	}
	return entered
}

func kindName(k schema.GroupVersionKind) string { return k.Kind + "." + k.Version + "." + k.Group }

// adopts tells whether a handler takes an object for handled because it is
// older than the handler.
func (l *ledger) adopts(h *selection.Handler, created time.Time) bool {
	return h.Spec.Existing == handler.AdoptExisting && created.Before(l.Handlers[h.Spec.ID])
}

// forgotten lists the kinds with finalizers that are not known any more.
func (l *ledger) forgotten(known map[schema.GroupKind]bool) []schema.GroupVersionKind {
	var out []schema.GroupVersionKind
	for _, name := range l.Kinds {
		if kind, _ := schema.ParseKindArg(name); kind != nil && !known[kind.GroupKind()] {
			out = append(out, *kind)
		}
	}
	return out
}
