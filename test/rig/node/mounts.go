package node

import (
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// mounts leads from the paths that a container knows to the real ones, the
// longest first.
type mounts []mounted

type mounted struct{ path, real string }

// mountsOf returns those of a container. Its variables are asked for if the
// Pod uses them in a path.
func (w *worker) mountsOf(c *corev1.Container, vars func() (*variables, error)) (mounts, error) {
	m := mounts{{path: c.TerminationMessagePath, real: filepath.Join(w.folder, c.Name+".message")}}
	for _, mount := range c.VolumeMounts {
		sub := mount.SubPath
		if mount.SubPathExpr != "" {
			known, err := vars()
			if err != nil {
				return nil, err
			}
			sub = expand(mount.SubPathExpr, known.values)
		}
		m = append(m, mounted{path: strings.TrimRight(mount.MountPath, "/"), real: filepath.Join(w.volume(mount.Name), sub)})
	}
	m = slices.DeleteFunc(m, func(m mounted) bool { return m.path == "" })
	m.sort()
	return m, nil
}

func (m mounts) sort() {
	slices.SortStableFunc(m, func(a, b mounted) int { return len(b.path) - len(a.path) })
}

func (w *worker) volume(name string) string { return filepath.Join(w.folder, "volumes", name) }

// rewrite replaces each path that is one of the mounts or below it.
func (m mounts) rewrite(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		found := -1
		if text[i] == '/' && (i == 0 || !inPath(text[i-1])) {
			found = slices.IndexFunc(m, func(m mounted) bool {
				rest, ok := strings.CutPrefix(text[i:], m.path)
				return ok && (rest == "" || rest[0] == '/' || !inPath(rest[0]))
			})
		}
		if found < 0 {
			out.WriteByte(text[i])
			i++
			continue
		}
		out.WriteString(m[found].real)
		i += len(m[found].path)
	}
	return out.String()
}

// inPath tells whether a byte next to a path makes it a part of another one.
func inPath(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b >= 0x80 || strings.IndexByte("/._-", b) >= 0
}
