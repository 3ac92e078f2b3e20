package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
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
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	files, err := w.files(ctx, pod, volume.VolumeSource)
	if err != nil || files == nil {
		return err
	}
	return place(folder, files)
}

// files returns those of a volume, nil for an emptyDir, which is the Pod's own.
func (w *worker) files(ctx context.Context, pod *corev1.Pod, source corev1.VolumeSource) (map[string]file, error) {
	switch {
	case source.EmptyDir != nil:
		return nil, nil
	case source.Secret != nil:
		s := source.Secret
		data, err := w.secret(ctx, pod.Namespace, s.SecretName, s.Optional)
		return pick(data, err, s.Items, s.Optional, s.DefaultMode)
	case source.ConfigMap != nil:
		s := source.ConfigMap
		data, err := w.configMapFiles(ctx, pod, s.Name, s.Optional)
		return pick(data, err, s.Items, s.Optional, s.DefaultMode)
	case source.DownwardAPI != nil:
		return w.downward(pod, source.DownwardAPI.Items, source.DownwardAPI.DefaultMode)
	case source.Projected != nil:
		all := map[string]file{}
		for _, s := range source.Projected.Sources {
			files, err := w.projected(ctx, pod, s, source.Projected.DefaultMode)
			if err != nil {
				return nil, err
			}
			maps.Copy(all, files)
		}
		return all, nil
	}
	return nil, errors.New("a node of processes has no such kind of volume")
}

func (w *worker) projected(ctx context.Context, pod *corev1.Pod, source corev1.VolumeProjection, mode *int32) (map[string]file, error) {
	switch {
	case source.Secret != nil:
		data, err := w.secret(ctx, pod.Namespace, source.Secret.Name, source.Secret.Optional)
		return pick(data, err, source.Secret.Items, source.Secret.Optional, mode)
	case source.ConfigMap != nil:
		data, err := w.configMapFiles(ctx, pod, source.ConfigMap.Name, source.ConfigMap.Optional)
		return pick(data, err, source.ConfigMap.Items, source.ConfigMap.Optional, mode)
	case source.DownwardAPI != nil:
		return w.downward(pod, source.DownwardAPI.Items, mode)
	case source.ServiceAccountToken != nil:
		data, err := w.token(ctx, pod, source.ServiceAccountToken)
		return map[string]file{source.ServiceAccountToken.Path: {data: data, mode: modeOf(nil, mode)}}, err
	}
	return nil, errors.New("a node of processes has no such projected source")
}

func (w *worker) downward(pod *corev1.Pod, items []corev1.DownwardAPIVolumeFile, mode *int32) (map[string]file, error) {
	files := map[string]file{}
	for _, item := range items {
		var text string
		var err error
		if item.FieldRef != nil {
			text, err = w.field(pod, item.FieldRef.FieldPath)
		} else {
			text, err = resourceField(pod, "", item.ResourceFieldRef)
		}
		if err != nil {
			return nil, err
		}
		files[item.Path] = file{data: []byte(text), mode: modeOf(item.Mode, mode)}
	}
	return files, nil
}

// pick takes all data, or that which the items name.
func pick(data map[string][]byte, err error, items []corev1.KeyToPath, optional *bool, mode *int32) (map[string]file, error) {
	if err != nil {
		return nil, err
	}
	files := map[string]file{}
	if len(items) == 0 {
		for key, value := range data {
			files[key] = file{data: value, mode: modeOf(nil, mode)}
		}
	}
	for _, item := range items {
		value, found := data[item.Key]
		if !found && !isTrue(optional) {
			return nil, fmt.Errorf("no key %q, only %q", item.Key, slices.Sorted(maps.Keys(data)))
		}
		if found {
			files[item.Path] = file{data: value, mode: modeOf(item.Mode, mode)}
		}
	}
	return files, nil
}

func modeOf(own, common *int32) os.FileMode {
	for _, mode := range []*int32{own, common} {
		if mode != nil {
			return os.FileMode(*mode) & os.ModePerm
		}
	}
	return 0o644
}
