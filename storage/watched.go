package storage

import "slices"

// watched reduces the value of a watched field to what counts of it.
func (r Rules) watched(field Path, value any) any {
	names, plain := field.Names()
	if plain && names[len(names)-1] == "conditions" {
		if list, ok := value.([]any); ok {
			return r.conditions(list)
		}
	}
	if plain && len(names) == 1 && names[0] == "metadata" {
		return r.watchedMetadata(value)
	}
	if plain && len(names) == 2 && names[0] == "metadata" && names[1] == "annotations" {
		if all, ok := value.(map[string]any); ok {
			return r.watchedAnnotations(all)
		}
	}
	if !plain || names[0] != "status" {
		return value
	}
	return r.withoutOwn(names[1:], value)
}

// withoutOwn drops what this operator wrote below the path from value.
func (r Rules) withoutOwn(at []string, value any) any {
	for _, own := range r.OwnStatus {
		if len(own) < len(at) || !slices.Equal(own[:len(at)], at) {
			continue
		}
		if len(own) == len(at) {
			return nil
		}
		value = without(value, own[len(at):])
	}
	m, ok := value.(map[string]any)
	if !ok {
		return value
	}
	if list, ok := m["conditions"].([]any); ok && len(at) == 0 {
		m = shallow(m)
		m["conditions"] = r.conditions(list)
		if m["conditions"] == nil {
			delete(m, "conditions")
		}
	}
	return orNothing(m)
}

// without is value less the member at the path; value itself is not changed.
func without(value any, path []string) any {
	m, ok := value.(map[string]any)
	if !ok {
		return value
	}
	child, ok := m[path[0]]
	if !ok {
		return value
	}
	copied := shallow(m)
	if len(path) == 1 {
		delete(copied, path[0])
		return copied
	}
	rest := without(child, path[1:])
	if left, ok := rest.(map[string]any); ok && len(left) == 0 {
		delete(copied, path[0])
	} else {
		copied[path[0]] = rest
	}
	return copied
}

func shallow(m map[string]any) map[string]any {
	copied := make(map[string]any, len(m))
	for key, value := range m {
		copied[key] = value
	}
	return copied
}

// conditions reduces conditions to type, status and reason, sorted by type,
// without the operator's own.
func (r Rules) conditions(list []any) any {
	reduced := make(map[string]any, len(list))
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			return list // no conditions in the usual sense
		}
		kind, ok := m["type"].(string)
		if !ok {
			return list
		}
		if slices.Contains(r.OwnConditions, kind) {
			continue
		}
		reduced[kind] = []any{m["status"], m["reason"]}
	}
	return orNothing(reduced)
}

// orNothing makes an empty object and an absent one the same.
func orNothing(m map[string]any) any {
	if len(m) == 0 {
		return nil
	}
	return m
}

// watchedMetadata keeps of metadata what no server and no operator churns.
func (r Rules) watchedMetadata(value any) any {
	m, _ := value.(map[string]any)
	kept := make(map[string]any, 4)
	for _, key := range []string{"name", "namespace", "uid", "labels", "ownerReferences", "deletionTimestamp"} {
		if v, ok := m[key]; ok {
			kept[key] = v
		}
	}
	if all, ok := m["annotations"].(map[string]any); ok {
		kept["annotations"] = r.watchedAnnotations(all)
	}
	return kept
}

func (r Rules) watchedAnnotations(all map[string]any) any {
	kept := make(map[string]any, len(all))
	for key, value := range all {
		if !r.ignored(key, all) {
			kept[key] = value
		}
	}
	return orNothing(kept)
}
