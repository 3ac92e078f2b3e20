package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/installation"
)

func (r *round) installationChecks() []Check {
	return []Check{
		{Group: "installation", Name: "replicas", Link: "replicas-are-not-available", Run: r.replicas},
		{Group: "installation", Name: "versions", Link: "versions-differ", Run: r.versions},
		{Group: "installation", Name: "Pods", Link: "pods-restart", Run: r.pods},
	}
}

func (r *round) replicas(ctx context.Context) Result {
	all, none := r.deployments(ctx)
	if all == nil {
		return none
	}
	var texts, wrong []string
	for i := range all {
		d := &all[i]
		if fault := faultOf(d); fault != "" {
			wrong = append(wrong, d.Name+" "+fault)
		}
		texts = append(texts, fmt.Sprintf("%s %d/%d", d.Name, d.Status.AvailableReplicas, desired(d)))
	}
	if len(wrong) > 0 {
		return failed("%s", strings.Join(wrong, "; ")).
			hint("kubectl -n %s get pods -l %s, and describe those that are not ready", all[0].Namespace, installation.ComponentLabel)
	}
	return passed("available: %s", strings.Join(texts, ", "))
}

func desired(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}

// faultOf says what keeps a Deployment from having all its replicas.
func faultOf(d *appsv1.Deployment) string {
	want, s := desired(d), d.Status
	switch {
	case want == 0:
		return "is scaled to 0"
	case s.ObservedGeneration < d.Generation:
		return "was changed, and the change is not taken in yet"
	case s.UpdatedReplicas < want:
		return fmt.Sprintf("has %d of %d replicas up to date%s", s.UpdatedReplicas, want, reason(d))
	case s.AvailableReplicas < want:
		return fmt.Sprintf("has %d of %d replicas available%s", s.AvailableReplicas, want, reason(d))
	}
	return ""
}

// reason is what the Deployment itself says.
func reason(d *appsv1.Deployment) string {
	for _, kind := range []appsv1.DeploymentConditionType{appsv1.DeploymentReplicaFailure, appsv1.DeploymentProgressing} {
		for _, c := range d.Status.Conditions {
			bad := corev1.ConditionFalse
			if kind == appsv1.DeploymentReplicaFailure {
				bad = corev1.ConditionTrue
			}
			if c.Type == kind && c.Status == bad {
				return ": " + c.Message
			}
		}
	}
	return ""
}

// versions compares the images with each other and with this program.
func (r *round) versions(ctx context.Context) Result {
	all, none := r.deployments(ctx)
	if all == nil {
		return none
	}
	var have, texts []string
	for i := range all {
		v := versionOf(&all[i])
		texts = append(texts, all[i].Name+" "+v)
		have = append(have, v)
	}
	return r.compareVersions(have, texts)
}

// compareVersions judges the versions of the Deployments, which are told in texts.
// A tag such as latest tells no release, so there is nothing to compare it with.
func (r *round) compareVersions(have, texts []string) Result {
	same := func(a, b string) bool { return a == b || plain(a) != "" && plain(a) == plain(b) }
	own := r.options.Version
	switch {
	case slices.ContainsFunc(have, func(v string) bool { return !same(v, have[0]) }):
		return warned("they differ: %s", strings.Join(texts, ", ")).
			hint("if no upgrade is under way, run 'helm upgrade' once more: controller and webhook decide alike only if they are of one release")
	case have[0] == "":
		return skipped("the images have no tag, and the Deployments no label app.kubernetes.io/version")
	case plain(have[0]) == "" && plain(own) != "":
		return passed("%s: that tells no release, so it is not compared with this program, which is %s", have[0], own)
	case plain(own) != "" && !same(have[0], own):
		return warned("%s is installed, but this program is %s", have[0], own).
			hint("use the program of the same release: what this one expects may be of another")
	}
	return passed("%s", have[0])
}

// versionOf is the tag of the image; of one by digest, what the label says.
func versionOf(d *appsv1.Deployment) string {
	image := ""
	if containers := d.Spec.Template.Spec.Containers; len(containers) > 0 {
		image = containers[0].Image
	}
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		return image[colon+1:]
	}
	return d.Labels["app.kubernetes.io/version"]
}

// plain is a version to be compared; empty: it is none of a release.
func plain(version string) string {
	version = strings.TrimPrefix(version, "v")
	if version == "" || version[0] < '0' || version[0] > '9' {
		return ""
	}
	return version
}

// recently is for how long a restart counts.
const recently = 10 * time.Minute

func (r *round) pods(ctx context.Context) Result {
	all, none := r.deployments(ctx)
	if all == nil {
		return none
	}
	list := &corev1.PodList{}
	n := 0
	var bad, restarted []string
	err := r.pages(ctx, list, func() bool {
		for i := range list.Items {
			n++
			stuck, again := r.troubleOf(&list.Items[i])
			bad, restarted = append(bad, stuck...), append(restarted, again...)
		}
		return true
	}, client.InNamespace(all[0].Namespace), client.HasLabels{installation.ComponentLabel})
	logs := fmt.Sprintf("kubectl -n %s logs POD --previous; if the reason is OOMKilled, raise the memory limit", all[0].Namespace)
	switch {
	case err != nil:
		return r.unread(err)
	case len(bad) > 0:
		return failed("they cannot run").about(bad...).hint("kubectl -n %s describe pod POD; %s", all[0].Namespace, logs)
	case len(restarted) > 0:
		return warned("restarted in the last %s", recently).about(restarted...).hint("%s", logs)
	case n == 0:
		return skipped("there is no Pod")
	}
	return passed("%d, none of which restarts", n)
}

// troubleOf says which containers of a Pod can't run, and which ran into trouble lately.
func (r *round) troubleOf(p *corev1.Pod) (stuck, restarted []string) {
	for _, status := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		last := status.LastTerminationState.Terminated
		why := ""
		if last != nil {
			why = fmt.Sprintf(": %s, exit code %d", last.Reason, last.ExitCode)
		}
		switch waiting := status.State.Waiting; {
		case waiting != nil && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing":
			stuck = append(stuck, fmt.Sprintf("Pod %s: %s%s", p.Name, waiting.Reason, why))
		case last != nil && r.options.Clock.Since(last.FinishedAt.Time) < recently:
			restarted = append(restarted, fmt.Sprintf("Pod %s: %d restarts%s", p.Name, status.RestartCount, why))
		}
	}
	return stuck, restarted
}
