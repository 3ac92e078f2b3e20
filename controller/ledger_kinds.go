package controller

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// LedgerKinds reads a stored ledger: the kinds on whose objects the operator
// may have left its finalizer.
func LedgerKinds(stored *corev1.ConfigMap) ([]schema.GroupVersionKind, error) {
	l := &ledger{}
	if text := stored.Data[ledgerKey]; text != "" {
		if err := json.Unmarshal([]byte(text), l); err != nil {
			return nil, fmt.Errorf("ConfigMap %s/%s: %s is no valid JSON: mend or delete it", stored.Namespace, stored.Name, ledgerKey)
		}
	}
	return l.forgotten(nil), nil
}
