package controller

import (
	"fmt"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
)

// Reasons of events. There is none for a success, nor for each retry.
const (
	ReasonRetrying       = "HandlerRetrying"  // the first temporary failure
	ReasonFailed         = "HandlerFailed"    // failed for good
	ReasonStatusFallback = "StatusFallback"   // .status did not keep a payload
	ReasonBlocked        = "Blocked"          // the marker cannot be read or written
	ReasonTooLarge       = "PayloadTooLarge"  // a payload was left out
	ReasonDisagree       = "HandlersDisagree" // patches of handlers wake each other
)

// Bounds of the API server on an event, in bytes. Nobody else keeps them: a
// longer event is refused, and so never seen.
const (
	maxNote   = 1024
	maxAction = 128
)

// report posts an event about an object. Events that differ only in their note
// count as one that repeats, so the topic (a handler's ID, say) tells them apart.
func report(recorder events.EventRecorder, u *unstructured.Unstructured, kind, reason, topic, note string, args ...any) {
	if recorder == nil {
		return
	}
	reference := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(),
		"metadata": map[string]any{"name": u.GetName(), "namespace": u.GetNamespace(), "uid": string(u.GetUID())},
	}}
	recorder.Eventf(reference, nil, kind, reason, cut(topic, maxAction), "%s", cut(fmt.Sprintf(note, args...), maxNote))
}

// attempts is a number of them in words.
func attempts(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}

// cut shortens a text to at most limit bytes, at a character's end.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

const (
	normal  = corev1.EventTypeNormal
	warning = corev1.EventTypeWarning
)
