package remote

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/storage"
)

// copies are annotations in which tools keep the object as it was applied, and
// with it the values of a Secret.
var copies = map[string]bool{
	"kubectl.kubernetes.io/last-applied-configuration": true,
	"kapp.k14s.io/original":                            true,
	"objectset.rio.cattle.io/applied":                  true,
	"banzaicloud.com/last-applied":                     true,
}

func isSecret(u *unstructured.Unstructured) bool {
	gvk := u.GroupVersionKind()
	return gvk.Group == "" && gvk.Kind == "Secret"
}

// withoutOwn is an object without managedFields and Dogear's annotations. What
// it leaves as it is, it shares with the object.
func withoutOwn(object map[string]any) map[string]any {
	return withMetadata(object, func(metadata map[string]any) {
		delete(metadata, "managedFields")
		dropAnnotations(metadata, storage.IsState)
	})
}

// withoutData is a Secret with its values replaced by "".
func withoutData(object map[string]any) map[string]any {
	hidden := withMetadata(object, func(metadata map[string]any) {
		dropAnnotations(metadata, func(key string) bool { return copies[key] })
	})
	for _, field := range []string{"data", "stringData"} {
		if v, ok := hidden[field]; ok {
			hidden[field] = blank(v)
		}
	}
	return hidden
}

// hideChange is a change of a Secret without values.
func hideChange(c handler.Change, names []string) handler.Change {
	secret := len(names) == 0 || names[0] == "data" || names[0] == "stringData"
	if len(names) >= 2 && names[0] == "metadata" && names[1] == "annotations" {
		secret = len(names) == 2 || copies[names[2]]
	}
	if secret {
		c.Old, c.New = blank(c.Old), blank(c.New)
	}
	return c
}

// blank replaces the values in v by "".
func blank(v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case map[string]any:
		blanked := make(map[string]any, len(v))
		for key, value := range v {
			blanked[key] = blank(value)
		}
		return blanked
	}
	return ""
}

// withMetadata is a copy of an object whose metadata is a copy that was changed.
func withMetadata(object map[string]any, change func(metadata map[string]any)) map[string]any {
	changed := maps.Clone(object)
	if metadata, ok := object["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		change(metadata)
		changed["metadata"] = metadata
	}
	return changed
}

// dropAnnotations replaces the annotations by those that are not to be dropped.
func dropAnnotations(metadata map[string]any, drop func(key string) bool) {
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok {
		return
	}
	annotations = maps.Clone(annotations)
	maps.DeleteFunc(annotations, func(key string, _ any) bool { return drop(key) })
	metadata["annotations"] = annotations
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
}
