package controller

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// LedgerKinds reads a stored ledger: the kinds on whose objects the operator
// may have left its finalizer.
func LedgerKinds(stored *corev1.ConfigMap) ([]schema.GroupVersionKind, error) {
	l, err := parseLedger(stored)
	if err != nil {
		return nil, err
	}
	return l.forgotten(nil), nil
}

// LedgerHandlers reads the IDs of the handlers of a stored ledger, in their order.
func LedgerHandlers(stored *corev1.ConfigMap) ([]string, error) {
	l, err := parseLedger(stored)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(l.Handlers)), nil
}

func parseLedger(stored *corev1.ConfigMap) (*ledger, error) {
	l := &ledger{}
	if text := stored.Data[ledgerKey]; text != "" {
		if err := json.Unmarshal([]byte(text), l); err != nil {
			return nil, fmt.Errorf("ConfigMap %s/%s: %s is no valid JSON: mend or delete it", stored.Namespace, stored.Name, ledgerKey)
		}
	}
	return l, nil
}
