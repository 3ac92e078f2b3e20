package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// PermitResource tells why the settings don't let a set name a resource; nil:
// they do. namespaced: the set is a HandlerSet.
func (s Settings) PermitResource(resource schema.GroupResource, namespaced bool) error {
	if reason := v1alpha1.Forbidden(resource); reason != "" {
		return fmt.Errorf("no set may name %s: %s", resource, reason)
	}
	if resource == (schema.GroupResource{Resource: "secrets"}) && !s.AllowSecrets {
		return fmt.Errorf("no set may name secrets: the settings of this installation don't allow it (allowSecrets)")
	}
	if !namespaced {
		return nil
	}
	for _, pattern := range s.NamespacedResources {
		if p, err := parsePattern(pattern); err == nil && p.matches(resource) {
			return nil
		}
	}
	return fmt.Errorf("a HandlerSet must not name %s: it is not in the settings of this installation (namespacedResources); "+
		"ask for it to be added, or for a ClusterHandlerSet", resource)
}

// pattern is a resource, or with "*" all resources of a group, or with a group
// "*" those of all groups but the core group.
type pattern schema.GroupResource

func (p pattern) matches(r schema.GroupResource) bool {
	group := p.Group == r.Group || p.Group == "*" && r.Group != ""
	return group && (p.Resource == "*" || p.Resource == r.Resource)
}

// parsePattern reads group/resource, resource.group, and resource alone for
// one of the core group.
func parsePattern(text string) (pattern, error) {
	p := pattern(schema.ParseGroupResource(text))
	if group, resource, ok := strings.Cut(text, "/"); ok {
		p = pattern{Group: group, Resource: resource}
	}
	switch {
	case p.Resource == "*" && p.Group == "":
		return p, fmt.Errorf("%q: resources of the core group must be named one by one; *.* is all of the other groups", text)
	case p.Resource == "" || strings.ContainsAny(p.Resource, "/. ") || strings.ContainsAny(p.Group, "/ "):
		return p, fmt.Errorf("%q: want a resource such as certificates.cert-manager.io or cert-manager.io/certificates", text)
	case strings.Contains(p.Group, "*") && p.Group != "*", strings.Contains(p.Resource, "*") && p.Resource != "*":
		return p, fmt.Errorf("%q: * stands for a whole resource or group, not for a part of its name", text)
	}
	return p, nil
}

// PermitURL tells why the settings don't let an endpoint have a URL; nil: they
// do. Errors don't quote the URL's query.
func (s Settings) PermitURL(text string) error {
	u, err := parseEndpoint(text)
	if err != nil {
		return err
	}
	for _, prefix := range s.URLPrefixes {
		if p, err := parseEndpoint(prefix); err == nil && p.begins(u) {
			return nil
		}
	}
	return fmt.Errorf("https://%s/%s: no allowed prefix of this installation (urlPrefixes) covers it; ask for one, or name a Service",
		u.host, strings.Join(u.segments, "/"))
}

// endpoint is a URL taken apart, so that prefixes are compared by what they
// mean: https://a.example.com does not cover https://a.example.com.evil.org,
// nor does /hooks cover /hooks-evil or /hooks/../admin.
type endpoint struct {
	host     string // lower case, with its port
	segments []string
}

func (e endpoint) begins(u endpoint) bool {
	if e.host != u.host || len(e.segments) > len(u.segments) {
		return false
	}
	for i, segment := range e.segments {
		if segment != u.segments[i] {
			return false
		}
	}
	return true
}

func parseEndpoint(text string) (endpoint, error) {
	u, err := url.Parse(text)
	if err != nil {
		return endpoint{}, fmt.Errorf("it is no URL")
	}
	if u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Opaque != "" || u.Fragment != "" {
		return endpoint{}, fmt.Errorf("want https://host, or https://host:port/path, without user and fragment")
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	e := endpoint{host: strings.ToLower(u.Hostname()) + ":" + port}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.Is6() {
		e.host = "[" + ip.String() + "]:" + port
	}
	path := strings.TrimSuffix(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	if path == "" {
		return e, nil
	}
	for segment := range strings.SplitSeq(path, "/") {
		plain, err := url.PathUnescape(segment)
		if err != nil || plain == "" || plain == "." || plain == ".." || strings.ContainsAny(plain, `/\`) {
			return endpoint{}, fmt.Errorf("its path has a segment that is empty, a dot, two dots, or has a slash in it")
		}
		e.segments = append(e.segments, plain)
	}
	return e, nil
}
