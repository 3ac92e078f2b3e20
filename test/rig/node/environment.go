package node

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// variables keep the order in which a Pod sets them: later ones refer to
// earlier ones.
type variables struct {
	names  []string
	values map[string]string
}

func (v *variables) set(name, value string) {
	if _, known := v.values[name]; !known {
		v.names = append(v.names, name)
	}
	v.values[name] = value
}

func (v *variables) list() []string {
	out := make([]string, 0, len(v.names)) // not nil, which would inherit ours
	for _, name := range v.names {
		out = append(out, name+"="+v.values[name])
	}
	return out
}

// environment returns the variables that the Pod gives to a container.
func (w *worker) environment(ctx context.Context, pod *corev1.Pod, c *corev1.Container) (*variables, error) {
	vars := &variables{values: map[string]string{}}
	for _, from := range c.EnvFrom {
		if err := w.all(ctx, pod, from, vars); err != nil {
			return nil, err
		}
	}
	for _, env := range c.Env {
		if env.ValueFrom == nil {
			vars.set(env.Name, expand(env.Value, vars.values))
			continue
		}
		value, found, err := w.one(ctx, pod, c, env.ValueFrom)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", env.Name, err)
		}
		if found {
			vars.set(env.Name, value)
		}
	}
	return vars, nil
}

// all takes over each key of a ConfigMap or Secret.
func (w *worker) all(ctx context.Context, pod *corev1.Pod, from corev1.EnvFromSource, vars *variables) error {
	var data map[string][]byte
	var err error
	if ref := from.ConfigMapRef; ref != nil {
		data, err = w.configMap(ctx, pod.Namespace, ref.Name, ref.Optional)
	} else if ref := from.SecretRef; ref != nil {
		data, err = w.secret(ctx, pod.Namespace, ref.Name, ref.Optional)
	}
	if err != nil {
		return fmt.Errorf("envFrom: %w", err)
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		vars.set(from.Prefix+key, string(data[key]))
	}
	return nil
}

// one reads the value of a variable; an optional one may not be found.
func (w *worker) one(ctx context.Context, pod *corev1.Pod, c *corev1.Container, from *corev1.EnvVarSource) (value string, found bool, err error) {
	switch {
	case from.FieldRef != nil:
		if path := from.FieldRef.FieldPath; path == "status.podIP" || path == "status.podIPs" {
			return w.address, true, nil // at which it can listen
		}
		value, err = w.field(pod, from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = resourceField(pod, c.Name, from.ResourceFieldRef)
		return value, true, err
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		data, err := w.secret(ctx, pod.Namespace, ref.Name, ref.Optional)
		return key("secret", ref.Name, ref.Key, ref.Optional, data, err)
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		data, err := w.configMap(ctx, pod.Namespace, ref.Name, ref.Optional)
		return key("configmap", ref.Name, ref.Key, ref.Optional, data, err)
	}
	return "", false, fmt.Errorf("a node of processes has no such source")
}

func key(kind, name, key string, optional *bool, data map[string][]byte, err error) (string, bool, error) {
	value, found := data[key]
	if err == nil && !found && !isTrue(optional) {
		err = fmt.Errorf("%s %q has no key %q", kind, name, key)
	}
	return string(value), found, err
}

func isTrue(b *bool) bool { return b != nil && *b }
