package node

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// command returns the process of a container: what the Pod says, with the
// translations that the package names.
func (w *worker) command(ctx context.Context, pod *corev1.Pod, c *corev1.Container) (command, error) {
	path, err := w.node.program(c.Image)
	if err != nil {
		return command{}, err
	}
	vars, err := w.environment(ctx, pod, c)
	if err != nil {
		return command{}, &unusable{reason: "CreateContainerConfigError", err: err}
	}
	words := []string{path}
	if len(c.Command) > 0 {
		words = slices.Clone(c.Command)
	}
	words = append(words, c.Args...)
	for i := range words {
		words[i] = w.mounts[c.Name].rewrite(expand(words[i], vars.values))
	}
	if err := w.translate(pod, c, vars); err != nil {
		return command{}, err
	}
	folder := w.folder
	if c.WorkingDir != "" {
		folder = w.mounts[c.Name].rewrite(c.WorkingDir)
	}
	return command{path: path, args: words, env: vars.list(), folder: folder}, nil
}

// program returns that of an image.
func (n *Node) program(image string) (string, error) {
	if path, ok := n.options.Images[image]; ok {
		return path, nil
	}
	repository, _, _ := strings.Cut(image, "@")
	if colon := strings.LastIndex(repository, ":"); colon > strings.LastIndex(repository, "/") {
		repository = repository[:colon]
	}
	if path, ok := n.options.Images[repository]; ok {
		return path, nil
	}
	known := slices.Sorted(maps.Keys(n.options.Images))
	return "", &unusable{reason: "ErrImagePull", err: fmt.Errorf("no program stands for image %q, but for %q (Options.Images)", image, known)}
}

// expand replaces $(NAME) by its value; $$(NAME) is $(NAME), and a name that
// is not known stays.
func expand(text string, values map[string]string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		text = after
		if rest, ok := strings.CutPrefix(text, "$"); ok {
			out.WriteByte('$')
			text = rest
			continue
		}
		name, rest, closed := strings.Cut(strings.TrimPrefix(text, "("), ")")
		value, known := values[name]
		if !strings.HasPrefix(text, "(") || !closed || !known {
			out.WriteByte('$')
			continue
		}
		out.WriteString(value)
		text = rest
	}
}
