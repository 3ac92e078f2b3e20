package storage

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"sync"
)

// Rules say what of an object counts. The zero value is the default.
type Rules struct {
	// Ignore lists further annotations that are no part of an essence:
	// whole keys, or prefixes that end in "*".
	Ignore []string
	// OwnStatus lists the paths below "status" that this operator itself
	// writes; they never count for handlers that watch fields in "status".
	OwnStatus [][]string
	// OwnConditions lists the condition types that this operator itself
	// writes; they never count for handlers that watch conditions.
	OwnConditions []string
}

// noise lists annotations that controllers of Kubernetes and well-known tools
// write on their own account. A change of one is no user's wish.
var noise = []string{
	"kubectl.kubernetes.io/*",
	"kopf.zalando.org/*",
	"kopf.dev/*",
	"deployment.kubernetes.io/*",
	"pv.kubernetes.io/*",
	"volume.kubernetes.io/selected-node",
	"volume.kubernetes.io/storage-provisioner",
	"volume.kubernetes.io/storage-resizer",
	"volume.beta.kubernetes.io/storage-provisioner",
	"control-plane.alpha.kubernetes.io/leader",
	"endpoints.kubernetes.io/last-change-trigger-time",
	"batch.kubernetes.io/job-tracking",
	"deprecated.daemonset.template.generation",
	"argocd.argoproj.io/refresh",
	"reconcile.fluxcd.io/requestedAt",
}

// kopfManaged is the name of the annotation by which kopf shows that all
// annotations with the same prefix are its own.
const kopfManaged = "/kopf-managed"

// Essence returns the canonical JSON of the part of an object whose change
// counts: everything but status, apiVersion, kind and metadata; plus labels,
// and annotations less Dogear's, kopf's, kubectl's and known noise.
// The object is not changed.
func (r Rules) Essence(object map[string]any) []byte {
	return r.appendEssence(nil, object)
}

// Digest is the hash of the essence: 22 characters of URL-safe base64.
func (r Rules) Digest(object map[string]any) string {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	*buffer = r.appendEssence((*buffer)[:0], object)
	return hash(*buffer)
}

// BirthDigest is the digest less the fields that the API server sets between
// admission and storage of a new object, such as a Service's clusterIP. It is
// the only digest on which admission and controller can agree for a CREATE.
func (r Rules) BirthDigest(object map[string]any) string {
	return r.Digest(unborn(object))
}

// FieldsDigest is the digest for a handler that watches these fields only, in
// whatever order they are named.
// A list of conditions counts with type, status and reason alone, so that
// timestamps, messages and observed generations wake nobody.
func (r Rules) FieldsDigest(object map[string]any, fields []Path) string {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	b := append((*buffer)[:0], '{')
	for _, field := range sortedPaths(fields) {
		value, ok := field.Get(object)
		if !ok {
			continue
		}
		if value = r.watched(field, value); value == nil {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = appendString(b, field.text)
		b = append(b, ':')
		b = AppendCanonical(b, value)
	}
	b = append(b, '}')
	*buffer = b
	return hash(b)
}

func sortedPaths(fields []Path) []Path {
	byText := func(a, b Path) int { return strings.Compare(a.text, b.text) }
	if slices.IsSortedFunc(fields, byText) {
		return fields
	}
	return slices.SortedFunc(slices.Values(fields), byText)
}

// DigestOf is the digest of an essence in canonical JSON, as Essence returns it.
func DigestOf(essence []byte) string { return hash(essence) }

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

func (r Rules) appendEssence(b []byte, object map[string]any) []byte {
	b = append(b, '{')
	labels, annotations := r.counted(object)
	var stack [8]string
	keys := stack[:0]
	for key, value := range object {
		if value != nil && key != "status" && key != "apiVersion" && key != "kind" && key != "metadata" {
			keys = append(keys, key)
		}
	}
	if len(labels)+len(annotations) > 0 {
		keys = append(keys, "metadata")
	}
	slices.Sort(keys)
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, key)
		b = append(b, ':')
		if key == "metadata" {
			b = appendMetadata(b, labels, annotations)
		} else {
			b = AppendCanonical(b, object[key])
		}
	}
	return append(b, '}')
}

func appendMetadata(b []byte, labels, annotations map[string]any) []byte {
	b = append(b, '{')
	if len(annotations) > 0 {
		b = AppendCanonical(append(b, `"annotations":`...), annotations)
		if len(labels) > 0 {
			b = append(b, ',')
		}
	}
	if len(labels) > 0 {
		b = AppendCanonical(append(b, `"labels":`...), labels)
	}
	return append(b, '}')
}

// counted returns the labels and the annotations that are part of the essence.
func (r Rules) counted(object map[string]any) (labels, annotations map[string]any) {
	metadata, _ := object["metadata"].(map[string]any)
	labels, _ = metadata["labels"].(map[string]any)
	all, _ := metadata["annotations"].(map[string]any)
	return withValue(labels), r.countedAnnotations(all)
}

// countedAnnotations is nil where none counts.
func (r Rules) countedAnnotations(all map[string]any) map[string]any {
	var counted map[string]any
	for key, value := range all {
		if value == nil || r.ignored(key, all) {
			continue
		}
		if counted == nil {
			counted = make(map[string]any, len(all))
		}
		counted[key] = value
	}
	return counted
}

// withValue is nil where all members of m are null.
func withValue(m map[string]any) map[string]any {
	for _, value := range m {
		if value != nil {
			return m
		}
	}
	return nil
}

func (r Rules) ignored(key string, all map[string]any) bool {
	if IsState(key) || matches(noise, key) || matches(r.Ignore, key) {
		return true
	}
	prefix, _, ok := strings.Cut(key, "/")
	if !ok {
		return false
	}
	if strings.HasSuffix(prefix, ".kopf.zalando.org") || strings.HasSuffix(prefix, ".kopf.dev") {
		return true
	}
	_, kopf := all[prefix+kopfManaged]
	return kopf
}

func matches(patterns []string, key string) bool {
	for _, pattern := range patterns {
		if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
			if strings.HasPrefix(key, prefix) {
				return true
			}
		} else if pattern == key {
			return true
		}
	}
	return false
}
