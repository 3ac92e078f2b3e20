package storage

import "slices"

// allocated names the members of spec that the API server itself sets between
// the admission of a CREATE and its storage: PrepareForCreate of the strategies,
// and the allocators, in pkg/registry of Kubernetes 1.37. Admission sees an
// object without them.
var allocated = map[string][]string{
	"v1/Service":               {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort", "nodePort"},
	"v1/Namespace":             {"finalizers"},
	"v1/PersistentVolumeClaim": {"dataSource", "dataSourceRef"},
	"v1/Pod":                   {"affinity", "topologySpreadConstraints"},
	"batch/v1/Job":             {"selector", "template"},
	"certificates.k8s.io/v1/CertificateSigningRequest": {"username", "uid", "groups", "extra"},
}

// unborn is the object as admission may have seen it: less what the API server
// sets afterwards. The object itself is not changed.
func unborn(object map[string]any) map[string]any {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	if apiVersion == "v1" && kind == "ServiceAccount" {
		return without(object, []string{"secrets"}).(map[string]any)
	}
	spec, ok := object["spec"].(map[string]any)
	drop := allocated[apiVersion+"/"+kind]
	if !ok || drop == nil {
		return object
	}
	object = shallow(object)
	object["spec"] = withoutMembers(spec, drop)
	return object
}

// withoutMembers drops members from spec, and from the items of the lists
// directly below it: a Service's ports have their own nodePort.
func withoutMembers(spec map[string]any, drop []string) map[string]any {
	kept := make(map[string]any, len(spec))
	for key, value := range spec {
		if slices.Contains(drop, key) {
			continue
		}
		if list, ok := value.([]any); ok {
			value = itemsWithout(list, drop)
		}
		kept[key] = value
	}
	return kept
}

func itemsWithout(list []any, drop []string) []any {
	items := slices.Clone(list)
	for i := range items {
		for _, name := range drop {
			items[i] = without(items[i], []string{name})
		}
	}
	return items
}
