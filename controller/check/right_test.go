package check

import (
	"errors"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/controller/sets"
)

func TestRightsInWords(t *testing.T) {
	t.Parallel()
	n := sets.Right{Group: "g.io", Resource: "things", Namespace: "ns"}
	rights := slices.Concat(n.To("get", "list"), sets.Right{Group: "g.io", Resource: "things", Subresource: "status"}.To("patch"),
		sets.Right{Resource: "secrets", Name: "key"}.To("get", "update"))
	want := []string{"get, list things.g.io in namespace ns", "patch things.g.io/status", "get, update secrets key"}
	if have := inWords(rights); !slices.Equal(have, want) {
		t.Errorf("got %q", have)
	}
}

// Sets in a namespace need no rights in all of them.
func TestRightsAreGivenWhereTheyAreMissing(t *testing.T) {
	t.Parallel()
	things, others := sets.Right{Group: "g.io", Resource: "things"}, sets.Right{Group: "g.io", Resource: "others"}
	in := func(n sets.Right, namespace string) []sets.Right {
		n.Namespace = namespace
		status := n
		status.Subresource = "status"
		return slices.Concat(n.To("list", "watch"), status.To("patch"))
	}
	const apply, or = " | kubectl apply -f -", ", or add them to rbac.resources of the chart"
	for _, c := range []struct {
		lacking []sets.Right
		want    string
	}{
		{in(things, ""), "dogear rbac things.g.io" + apply + or},
		{in(things, "shop"), "dogear rbac things.g.io --namespace-role=shop" + apply + or},
		{slices.Concat(in(things, "shop"), in(others, "shop"), in(others, "bank")),
			"dogear rbac others.g.io --namespace-role=bank" + apply + "\ndogear rbac others.g.io things.g.io --namespace-role=shop" + apply + or},
		{slices.Concat(in(things, "shop"), in(things, ""), in(others, "shop"), in(things, "bank")),
			"dogear rbac things.g.io" + apply + "\ndogear rbac others.g.io --namespace-role=shop" + apply + or},
	} {
		if have := grant(c.lacking); have != c.want {
			t.Errorf("got %q, want %q", have, c.want)
		}
	}
}

func TestWhatCannotBeReadIsSkippedOrFailed(t *testing.T) {
	t.Parallel()
	r := &round{}
	resource := schema.GroupResource{Group: "g.io", Resource: "things"}
	for err, want := range map[error]Verdict{
		apierrors.NewForbidden(resource, "x", errors.New("no")): Skipped,
		apierrors.NewNotFound(resource, "x"):                    Skipped,
		errNoSets:                                               Skipped,
		apierrors.NewTimeoutError("slow", 1):                    Failed,
		errors.New("connection refused"):                        Failed,
	} {
		if have := r.unread(err); have.Verdict != want || have.Message == "" || have.Hint == "" && want == Failed {
			t.Errorf("%v: %+v", err, have)
		}
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		49 * time.Hour: "2d1h", 90 * time.Minute: "1h30m", 65 * time.Second: "1m5s", 1500 * time.Millisecond: "1s", 0: "0s",
	} {
		if have := span(d); have != want {
			t.Errorf("%s: %s, want %s", d, have, want)
		}
	}
}
