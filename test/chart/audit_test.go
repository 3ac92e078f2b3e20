package chart

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
)

// event is what the API server writes down of a request.
type event struct {
	User       struct{ Username string }
	Verb       string
	RequestURI string
	ObjectRef  *reference
	// Annotations tell how it was decided whether the request is allowed.
	Annotations map[string]string
}

type reference struct{ APIGroup, Resource, Subresource, Namespace, Name string }

// account is the name of the ServiceAccount of the release; empty: another.
func (e event) account() string {
	name, _ := strings.CutPrefix(e.User.Username, "system:serviceaccount:"+namespace+":")
	if name == e.User.Username {
		return ""
	}
	return name
}

func (e event) allowed() bool { return e.Annotations["authorization.k8s.io/decision"] == "allow" }

// audited are the requests of ServiceAccounts since the test began.
func (b *bench) audited() (all []event) {
	b.Helper()
	file, err := os.Open(b.cp.AuditLog())
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(b.auditFrom, 0); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		e := event{}
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // the last line may be half there
		}
		if e.ObjectRef == nil {
			e.ObjectRef = &reference{} // discovery and the like
		}
		all = append(all, e)
	}
	return all
}

// auditEnd is where the log ends now.
func (b *bench) auditEnd() int64 {
	info, err := os.Stat(b.cp.AuditLog())
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}
