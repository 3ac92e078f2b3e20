package migrate

import (
	"fmt"
	"io"
	"strings"

	"github.com/dogear-dev/dogear/controller/installation"
)

// WriteText writes the result for people.
func (r *Result) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, crd := range r.CRDs {
		switch {
		case crd.Version == "" && !crd.Missing: // it could not be read, which the error says
		case crd.Missing:
			fmt.Fprintf(&b, "%s: not in the cluster\n", crd.Name)
		case len(crd.StoredVersions) == 1 && crd.StoredVersions[0] == crd.Version:
			fmt.Fprintf(&b, "%s: nothing to do, all is stored as %s\n", crd.Name, crd.Version)
		default:
			fmt.Fprintf(&b, "%s: %d of %d objects were rewritten as %s\n", crd.Name, crd.Rewritten, crd.Objects, crd.Version)
		}
		for _, l := range crd.Left {
			name := l.Name
			if l.Namespace != "" {
				name = l.Namespace + "/" + name
			}
			fmt.Fprintf(&b, "  left: %s: %s\n", installation.Printable(name), installation.Printable(l.Reason))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
