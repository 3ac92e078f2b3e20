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
		if err := w.all(ctx, from, vars); err != nil {
			return nil, fmt.Errorf("envFrom: %w", err)
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
func (w *worker) all(ctx context.Context, from corev1.EnvFromSource, vars *variables) error {
	var data map[string][]byte
	var err error
	if ref := from.ConfigMapRef; ref != nil {
		data, err = w.configMap(ctx, ref.Name, ref.Optional)
	} else if ref := from.SecretRef; ref != nil {
		data, err = w.secret(ctx, ref.Name, ref.Optional)
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		vars.set(from.Prefix+key, string(data[key]))
	}
	return err
}

// one reads the value of a variable; an optional one may not be found.
func (w *worker) one(ctx context.Context, pod *corev1.Pod, c *corev1.Container, from *corev1.EnvVarSource) (value string, found bool, err error) {
	var data map[string][]byte
	var key string
	var optional *bool
	switch {
	case from.SecretKeyRef != nil:
		key, optional = from.SecretKeyRef.Key, from.SecretKeyRef.Optional
		data, err = w.secret(ctx, from.SecretKeyRef.Name, optional)
	case from.ConfigMapKeyRef != nil:
		key, optional = from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Optional
		data, err = w.configMap(ctx, from.ConfigMapKeyRef.Name, optional)
	default:
		value, err = w.downward(pod, c.Name, from.FieldRef, from.ResourceFieldRef)
		return value, true, err
	}
	text, found := data[key]
	if err == nil && !found && !isTrue(optional) {
		err = fmt.Errorf("no key %q, only %q", key, slices.Sorted(maps.Keys(data)))
	}
	return string(text), found, err
}
