package storage

import "slices"

// watched reduces the value of a watched field to what counts of it; nil is nothing.
func (r Rules) watched(field Path, value any) any {
	switch field.Root() {
	case "metadata":
		return r.watchedMetadata(field, value)
	case "status":
		return r.watchedStatus(field, value)
	}
	return value
}

func (r Rules) watchedStatus(field Path, value any) any {
	at := field.leading()[1:]
	for _, own := range r.OwnStatus {
		if len(own) <= len(at) && slices.Equal(own, at[:len(own)]) {
			return nil
		}
	}
	if last := len(at) - 1; last >= 0 && at[last] == "conditions" {
		return r.watchedConditions(field.segments[len(at)+1:], value)
	}
	if len(field.segments) > len(at)+1 {
		return value // inside the item of a list
	}
	for _, own := range r.OwnStatus {
		if len(own) > len(at) && slices.Equal(own[:len(at)], at) {
			value = without(value, own[len(at):])
		}
	}
	m, ok := value.(map[string]any)
	if !ok {
		return value
	}
	if list, ok := m["conditions"].([]any); ok {
		m = shallow(m)
		if m["conditions"] = r.conditions(list); m["conditions"] == nil {
			delete(m, "conditions")
		}
	}
	return orNothing(m)
}

// watchedConditions reduces a list of conditions, one condition of it, or
// leaves a field of one as it is, which was chosen by name.
func (r Rules) watchedConditions(behind []segment, value any) any {
	if len(behind) == 0 {
		if list, ok := value.([]any); ok {
			return r.conditions(list)
		}
		return value
	}
	if behind[0].key == "type" && slices.Contains(r.OwnConditions, behind[0].value) {
		return nil
	}
	if len(behind) == 1 {
		return r.conditions([]any{value})
	}
	return value
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
	if m = withValue(m); m == nil {
		return nil
	}
	return m
}

// watchedMetadata keeps of metadata what no server and no operator churns.
func (r Rules) watchedMetadata(field Path, value any) any {
	names := field.leading()
	m, _ := value.(map[string]any)
	switch {
	case len(names) == 1:
		return r.wholeMetadata(m)
	case names[1] == "annotations" && len(names) == 2:
		return r.annotations(m)
	case names[1] == "annotations" && IsState(names[2]), names[1] == "resourceVersion", names[1] == "managedFields":
		return nil // every own write changes it
	}
	return value
}

func (r Rules) wholeMetadata(m map[string]any) any {
	kept := make(map[string]any, 7)
	for _, key := range []string{"name", "namespace", "uid", "labels", "ownerReferences", "deletionTimestamp"} {
		kept[key] = m[key]
	}
	if all, ok := m["annotations"].(map[string]any); ok {
		kept["annotations"] = r.annotations(all)
	}
	return kept
}

func (r Rules) annotations(all map[string]any) any {
	return orNothing(r.countedAnnotations(all))
}
