package check

import "strings"

// right is one to do something with a resource.
type right struct {
	group, resource, subresource string
	name, namespace              string // empty: any, all
	verb                         string
}

// String is the right in words, for lists of those that are missing.
func (n right) String() string {
	text := n.verb + " " + n.what()
	if n.name != "" {
		text += " " + n.name
	}
	if n.namespace != "" {
		text += " in namespace " + n.namespace
	}
	return text
}

func (n right) what() string {
	text := n.resource
	if n.group != "" {
		text += "." + n.group
	}
	if n.subresource != "" {
		text += "/" + n.subresource
	}
	return text
}

// several are rights for the same with several verbs.
func (n right) several(verbs ...string) (all []right) {
	for _, verb := range verbs {
		n.verb = verb
		all = append(all, n)
	}
	return all
}

// inWords joins the verbs of rights for the same.
func inWords(rights []right) (texts []string) {
	for i := 0; i < len(rights); {
		n := rights[i]
		verbs := []string{}
		for ; i < len(rights) && rights[i].several("")[0] == n.several("")[0]; i++ {
			verbs = append(verbs, rights[i].verb)
		}
		n.verb = strings.Join(verbs, ", ")
		texts = append(texts, n.String())
	}
	return texts
}
