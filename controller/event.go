package controller

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
)

// Reasons of events. There is none for a success, nor for each retry.
const (
	ReasonRetrying       = "HandlerRetrying" // the first temporary failure
	ReasonFailed         = "HandlerFailed"   // failed for good
	ReasonStatusFallback = "StatusFallback"  // .status did not keep a payload
	ReasonBlocked        = "Blocked"         // the marker cannot be read or written
	ReasonTooLarge       = "PayloadTooLarge" // a payload was left out
)

const action = "Handle"

// report posts an event about an object.
func report(recorder events.EventRecorder, u *unstructured.Unstructured, kind, reason, note string, args ...any) {
	if recorder == nil {
		return
	}
	reference := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(),
		"metadata": map[string]any{"name": u.GetName(), "namespace": u.GetNamespace(), "uid": string(u.GetUID())},
	}}
	recorder.Eventf(reference, nil, kind, reason, action, note, args...)
}

const (
	normal  = corev1.EventTypeNormal
	warning = corev1.EventTypeWarning
)
