package storage

// allocated names the members of spec that the API server itself sets between
// the admission of a CREATE and its storage (strategy and allocators in the
// registries of kube-apiserver). Admission sees an object without them.
func allocated(object map[string]any) []string {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	switch apiVersion + "/" + kind {
	case "v1/Service":
		return []string{"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort", "nodePort"}
	case "batch/v1/Job":
		return []string{"selector", "template"}
	case "v1/ServiceAccount":
		return []string{"secrets"}
	}
	return nil
}

// withoutItems drops members also from the items of lists directly below spec:
// a Service's ports have their own nodePort.
func withoutItems(spec any, drop []string) any {
	m, ok := spec.(map[string]any)
	if !ok {
		return spec
	}
	copied := shallow(m)
	for key, value := range copied {
		list, ok := value.([]any)
		if !ok {
			continue
		}
		items := make([]any, len(list))
		for i, item := range list {
			items[i] = item
			for _, name := range drop {
				items[i] = without(items[i], []string{name})
			}
		}
		copied[key] = items
	}
	return copied
}
