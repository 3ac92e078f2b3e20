package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// A file of a volume.
type file struct {
	data []byte
	mode os.FileMode
}

// mount makes the volumes of the Pod, or brings them up to date.
func (w *worker) mount(ctx context.Context, pod *corev1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	for _, c := range w.containers {
		if w.mounts[c.spec.Name] == nil {
			paths, err := w.mountsOf(c.spec, func() (*variables, error) { return w.environment(ctx, pod, c.spec) })
			if err != nil {
				return err
			}
			w.mounts[c.spec.Name] = paths
		}
	}
	var errs []error
	for _, volume := range pod.Spec.Volumes {
		if err := w.mountOne(ctx, pod, volume); err != nil {
			errs = append(errs, fmt.Errorf("volume %q: %w", volume.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (w *worker) mountOne(ctx context.Context, pod *corev1.Pod, volume corev1.Volume) error {
	folder := w.volume(volume.Name)
	if err := os.MkdirAll(folder, 0o700); err != nil || volume.EmptyDir != nil {
		return err
	}
	parts, mode := asProjected(volume.VolumeSource)
	if parts == nil {
		return errors.New("a node of processes has no such kind of volume")
	}
	files := map[string]file{}
	for _, part := range parts {
		if err := w.add(ctx, pod, part, mode, files); err != nil {
			return err
		}
	}
	if reflect.DeepEqual(w.placed[volume.Name], files) {
		return nil
	}
	if err := place(folder, files); err != nil {
		return err
	}
	w.placed[volume.Name] = files
	return nil
}

// asProjected returns the parts of a volume, which is one if it is of a simple
// kind, and the mode of its files.
func asProjected(v corev1.VolumeSource) ([]corev1.VolumeProjection, *int32) {
	switch {
	case v.Secret != nil:
		part := &corev1.SecretProjection{Items: v.Secret.Items, Optional: v.Secret.Optional}
		part.Name = v.Secret.SecretName
		return []corev1.VolumeProjection{{Secret: part}}, v.Secret.DefaultMode
	case v.ConfigMap != nil:
		part := &corev1.ConfigMapProjection{LocalObjectReference: v.ConfigMap.LocalObjectReference, Items: v.ConfigMap.Items, Optional: v.ConfigMap.Optional}
		return []corev1.VolumeProjection{{ConfigMap: part}}, v.ConfigMap.DefaultMode
	case v.DownwardAPI != nil:
		return []corev1.VolumeProjection{{DownwardAPI: &corev1.DownwardAPIProjection{Items: v.DownwardAPI.Items}}}, v.DownwardAPI.DefaultMode
	case v.Projected != nil:
		return append([]corev1.VolumeProjection{}, v.Projected.Sources...), v.Projected.DefaultMode
	}
	return nil, nil
}

// add puts the files of a part to those of its volume.
func (w *worker) add(ctx context.Context, pod *corev1.Pod, part corev1.VolumeProjection, mode *int32, files map[string]file) error {
	switch {
	case part.Secret != nil:
		data, err := w.secret(ctx, part.Secret.Name, part.Secret.Optional)
		if err != nil {
			return err
		}
		return pick(data, part.Secret.Items, part.Secret.Optional, mode, files)
	case part.ConfigMap != nil:
		data, err := w.configMap(ctx, part.ConfigMap.Name, part.ConfigMap.Optional)
		if err != nil {
			return err
		}
		w.rewriteAll(data)
		return pick(data, part.ConfigMap.Items, part.ConfigMap.Optional, mode, files)
	case part.ServiceAccountToken != nil:
		data, err := w.token(ctx, pod, part.ServiceAccountToken)
		files[part.ServiceAccountToken.Path] = file{data: data, mode: modeOf(nil, mode)}
		return err
	case part.DownwardAPI != nil:
		for _, item := range part.DownwardAPI.Items {
			text, err := w.downward(pod, "", item.FieldRef, item.ResourceFieldRef)
			if err != nil {
				return err
			}
			files[item.Path] = file{data: []byte(text), mode: modeOf(item.Mode, mode)}
		}
		return nil
	}
	return errors.New("a node of processes has no such projected source")
}

// pick takes all data, or that which the items name.
func pick(data map[string][]byte, items []corev1.KeyToPath, optional *bool, mode *int32, files map[string]file) error {
	if len(items) == 0 {
		for key, value := range data {
			files[key] = file{data: value, mode: modeOf(nil, mode)}
		}
	}
	for _, item := range items {
		value, found := data[item.Key]
		if !found && !isTrue(optional) {
			return fmt.Errorf("no key %q, only %q", item.Key, slices.Sorted(maps.Keys(data)))
		}
		if found {
			files[item.Path] = file{data: value, mode: modeOf(item.Mode, mode)}
		}
	}
	return nil
}

func modeOf(own, common *int32) os.FileMode {
	for _, mode := range []*int32{own, common} {
		if mode != nil {
			return os.FileMode(*mode) & os.ModePerm
		}
	}
	return 0o644
}
