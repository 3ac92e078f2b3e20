package render

import (
	"slices"
	"strings"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/dogear-dev/dogear/config"
)

// components are all that have ServiceAccounts, with the value that names each.
var components = map[string]string{
	"controller": "controller.serviceAccount.name", "webhook": "webhook.serviceAccount.name",
	"uninstall": "hooks.serviceAccount.uninstall", "check": "hooks.serviceAccount.check", "migrate": "hooks.serviceAccount.migrate",
}

// An account of another name runs the Pods, has the rights, and is what the webhook
// lets pass.
func TestAccountsOfOtherNames(t *testing.T) {
	t.Parallel()
	set := []string{"crds.migrate=true"}
	for component, value := range components {
		set = append(set, value+"=own-"+component)
	}
	objects, before := rendered(t, "--set", strings.Join(set, ",")), rendered(t, "--set", set[0])
	for component := range components {
		if find(objects, "ServiceAccount", "own-"+component) == nil || find(objects, "ServiceAccount", "dogear-"+component) != nil {
			t.Errorf("the account of the %s is not own-%[1]s", component)
		}
		if got, want := granted(t, objects, component), granted(t, before, component); !slices.Equal(got, want) || len(got) == 0 {
			t.Errorf("the %s may %v: want %v", component, got, want)
		}
	}
	for _, pod := range podsOf(t, objects) {
		if want := strings.Replace(pod.Name, "dogear-", "own-", 1); pod.Spec.ServiceAccountName != want {
			t.Errorf("%s runs as %s: want %s", pod.Name, pod.Spec.ServiceAccountName, want)
		}
	}
	for _, o := range objects {
		if !strings.HasSuffix(o.GetKind(), "RoleBinding") {
			continue
		}
		for _, subject := range to[rbacv1.RoleBinding](t, o).Subjects {
			if !strings.HasPrefix(subject.Name, "own-") {
				t.Errorf("%s is for %s", called(o), subject.Name)
			}
		}
	}
	s := settingsFrom(t, "--set", strings.Join(set, ","))
	if want := []string{"system:serviceaccount:dogear:own-controller"}; !slices.Equal(s.Webhook.ControllerUsers, want) {
		t.Errorf("the webhook lets %v pass: want %v", s.Webhook.ControllerUsers, want)
	}
}

func settingsFrom(t *testing.T, args ...string) *config.Loaded {
	t.Helper()
	objects := rendered(t, args...)
	s, err := load(t, settingsFile(t, objects), podsOf(t, objects)[0])
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Somebody else may make them; then their names are as before.
func TestAccountsThatAreThere(t *testing.T) {
	t.Parallel()
	objects := rendered(t, "--set", "crds.migrate=true,controller.serviceAccount.create=false,webhook.serviceAccount.create=false,hooks.serviceAccount.create=false,hooks.serviceAccount.check=tester")
	for _, o := range objects {
		if o.GetKind() == "ServiceAccount" {
			t.Errorf("%s is made", called(o))
		}
	}
	for _, pod := range podsOf(t, objects) {
		want := pod.Name
		if pod.Name == "dogear-check" {
			want = "tester"
		}
		if pod.Spec.ServiceAccountName != want {
			t.Errorf("%s runs as %s: want %s", pod.Name, pod.Spec.ServiceAccountName, want)
		}
	}
}

func TestNotesNameAccounts(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{
		"":                                       "--service-account=dogear/dogear-controller |",
		"controller.serviceAccount.name=robot":   "--service-account=dogear/robot,dogear/dogear-uninstall |",
		"hooks.serviceAccount.uninstall=remover": "--service-account=dogear/dogear-controller,dogear/remover |",
	} {
		if text := notes(t, "namespaced.enabled=true,"+set); !strings.Contains(text, want) {
			t.Errorf("%s: they don't say %q:\n%s", set, want, text)
		}
	}
}

// Requests of both components have a level of their own, and the Lease one before it.
func TestFlowControl(t *testing.T) {
	t.Parallel()
	for _, o := range rendered(t) {
		if strings.HasPrefix(o.GetAPIVersion(), flowcontrolv1.GroupName) {
			t.Errorf("%s is there by itself", called(o))
		}
	}
	subjects := func(set string) (names []string) {
		objects := rendered(t, "--set", "flowControl.enabled=true", "--set", set)
		all := to[flowcontrolv1.FlowSchema](t, find(objects, "FlowSchema", "dogear"))
		lease := to[flowcontrolv1.FlowSchema](t, find(objects, "FlowSchema", "dogear-lease"))
		if lease.Spec.MatchingPrecedence >= all.Spec.MatchingPrecedence || lease.Spec.PriorityLevelConfiguration.Name != "leader-election" {
			t.Errorf("the Lease comes at %d, in %s", lease.Spec.MatchingPrecedence, lease.Spec.PriorityLevelConfiguration.Name)
		}
		if level := find(objects, "PriorityLevelConfiguration", all.Spec.PriorityLevelConfiguration.Name); level == nil {
			t.Errorf("there is no level %s", all.Spec.PriorityLevelConfiguration.Name)
		}
		for _, subject := range all.Spec.Rules[0].Subjects {
			names = append(names, subject.ServiceAccount.Namespace+"/"+subject.ServiceAccount.Name)
		}
		return names
	}
	if got, want := subjects("controller.serviceAccount.name=robot"), []string{"dogear/robot", "dogear/dogear-webhook"}; !slices.Equal(got, want) {
		t.Errorf("it is for %v: want %v", got, want)
	}
	if got, want := subjects("webhook.enabled=false"), []string{"dogear/dogear-controller"}; !slices.Equal(got, want) {
		t.Errorf("it is for %v: want %v", got, want)
	}
}
