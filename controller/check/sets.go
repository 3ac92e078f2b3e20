package check

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/uninstall"
)

func (r *round) setChecks() []Check {
	return []Check{
		{Group: "controller", Name: "sets", Link: "a-set-is-not-ready", Run: r.setsReady},
		{Group: "controller", Name: "warnings of sets", Link: "a-set-has-a-warning", Run: r.setsWarn},
		{Group: "controller", Name: "endpoints", Link: "an-endpoint-does-not-answer", Run: r.endpointsHealthy},
	}
}

// setsReady finds out whether the controller has taken in all sets: a set is
// Ready when its resource is watched, and what it was before is read.
func (r *round) setsReady(ctx context.Context) Result {
	sets, err := r.sets(ctx)
	if err != nil {
		return r.unread(err)
	}
	var unseen, wrong, leaving []string
	for _, set := range sets {
		status := set.Observed()
		ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
		switch {
		case ready == nil || ready.Reason == uninstall.Uninstalled || status.ObservedGeneration != set.GetGeneration():
			unseen = append(unseen, nameOf(set)+": the controller has not looked at it as it is now")
		case set.GetDeletionTimestamp() != nil:
			leaving = append(leaving, fmt.Sprintf("%s is being deleted: %s", nameOf(set), ready.Message))
		case ready.Status != metav1.ConditionTrue:
			wrong = append(wrong, fmt.Sprintf("%s: %s: %s", nameOf(set), ready.Reason, ready.Message))
		}
	}
	switch {
	case len(unseen) > 0: // that is no fault of theirs
		return notInForce(sets, append(unseen, wrong...))
	case len(wrong) > 0:
		return notInForce(sets, wrong).ofSets()
	case len(leaving) > 0:
		return warned("%s being deleted: what their handlers have left on objects is removed first", count(len(leaving), "set")).about(leaving...).
			hint("see the stuck finalizers below: a set goes when no object has anything of it any more")
	case len(sets) == 0:
		return skipped("there is none").hint("docs/recipes.md has some to begin with")
	}
	return passed("%s in force", count(len(sets), "set"))
}

func notInForce(sets []v1alpha1.AnySet, wrong []string) Result {
	return failed("%d of %s not in force as declared", len(wrong), count(len(sets), "set")).about(wrong...).
		hint("do what the messages say; if no set is looked at, see the log of the controller")
}

// setsWarn lists what keeps no set from being in force, and is worth a look; and
// sets that are not meant for this installation, nor for any other.
func (r *round) setsWarn(ctx context.Context) Result {
	sets, err := r.sets(ctx)
	if err != nil {
		return r.unread(err)
	}
	var texts []string
	for _, set := range sets {
		if !inForce(set) {
			continue
		}
		for _, c := range set.Observed().Conditions {
			switch {
			case c.Type == v1alpha1.ConditionReady, c.Type == v1alpha1.ConditionEndpointsHealthy:
			case c.Status == metav1.ConditionFalse, c.Type == "StatusShared" && c.Status == metav1.ConditionTrue:
				texts = append(texts, fmt.Sprintf("%s: %s: %s", nameOf(set), c.Type, c.Message))
			}
		}
		if set.Declared().Paused {
			texts = append(texts, nameOf(set)+": it is paused, and its handlers are not called")
		}
	}
	unlooked := r.unlooked(ctx)
	switch {
	case len(unlooked) > 0:
		return warned("%s at which no controller looks, and %d warnings of sets that are in force", count(len(unlooked), "set"), len(texts)).about(append(unlooked, texts...)...).
			hint("delete what is of no use, or have Dogear work there: namespaced.namespaces of the chart")
	case len(texts) > 0:
		return warned("of sets that are in force").about(texts...).hint("kubectl get chs,hs -A -o yaml has all conditions")
	}
	return passed("none")
}

func (r *round) endpointsHealthy(ctx context.Context) Result {
	sets, err := r.sets(ctx)
	if err != nil {
		return r.unread(err)
	}
	var down []string
	known := 0
	for _, set := range sets {
		c := meta.FindStatusCondition(set.Observed().Conditions, v1alpha1.ConditionEndpointsHealthy)
		if c == nil {
			continue
		}
		if known++; c.Status == metav1.ConditionFalse {
			down = append(down, nameOf(set)+": "+strings.TrimSpace(c.Message))
		}
	}
	switch {
	case len(down) > 0:
		return warned("some do not answer: their handlers wait, and use up no attempts").about(down...).
			hint("see that the endpoint runs, listens at that port with that certificate, and that a NetworkPolicy lets the controller reach it")
	case known == 0:
		return skipped("no set has handlers")
	}
	return passed("no endpoint is down")
}
