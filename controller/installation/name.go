package installation

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

var versionName = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// ParseResource reads the name of a resource as people write it:
// certificates.cert-manager.io, certificates.v1.cert-manager.io,
// cert-manager.io/v1/certificates, or services for one of the core group.
// Versions do not count.
func ParseResource(text string) (schema.GroupResource, error) {
	name := schema.GroupResource{}
	if parts := strings.Split(text, "/"); len(parts) > 1 {
		last := len(parts) - 1
		name.Resource = parts[last]
		if parts = parts[:last]; versionName.MatchString(parts[len(parts)-1]) {
			parts = parts[:len(parts)-1]
		}
		name.Group = strings.Join(parts, "/")
	} else {
		name.Resource, name.Group, _ = strings.Cut(text, ".")
		if version, group, _ := strings.Cut(name.Group, "."); versionName.MatchString(version) {
			name.Group = group
		}
	}
	// Names of kinds get through, to be corrected.
	resource := len(validation.IsDNS1123Label(strings.ToLower(name.Resource))) == 0 && !versionName.MatchString(name.Resource)
	if !resource || name.Group != "" && len(validation.IsDNS1123Subdomain(name.Group)) > 0 {
		return name, fmt.Errorf("%q names no resource: want it as in certificates.cert-manager.io, cert-manager.io/v1/certificates or services", text)
	}
	return name, nil
}

// Like lists the resources that may be meant by a name: by their singular, kind
// or short names, or in other groups where none is given.
func (c *Catalog) Like(name schema.GroupResource) (like []*Served) {
	word := strings.ToLower(name.Resource)
	for i := range c.All {
		s := &c.All[i]
		if name.Group != "" && name.Group != s.Resource.Group || !s.Can("patch") {
			continue
		}
		for _, known := range append([]string{s.Resource.Resource, s.Singular, strings.ToLower(s.Kind)}, s.ShortNames...) {
			if known == word {
				like = append(like, s)
				break
			}
		}
	}
	return like
}
