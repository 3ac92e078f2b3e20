package node_test

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestJobCompletesOrFailsWithItsExitCode(t *testing.T) {
	theNode(t)
	for code, condition := range map[string]batchv1.JobConditionType{"0": batchv1.JobComplete, "3": batchv1.JobFailed} {
		t.Run(code, func(t *testing.T) {
			namespace := newNamespace(t)
			spec := podSpec("exit", code)
			spec.Containers[0].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "it"}, Spec: batchv1.JobSpec{
				BackoffLimit: new(int32(0)), Template: corev1.PodTemplateSpec{Spec: spec},
			}}
			create(t, job)
			until(t, job, string(condition), func(job *batchv1.Job) bool {
				for _, c := range job.Status.Conditions {
					if c.Type == condition && c.Status == corev1.ConditionTrue {
						return true
					}
				}
				return false
			})
			pods, err := theNode(t).Pods(t.Context(), namespace, "job-name=it")
			if err != nil || len(pods) != 1 {
				t.Fatalf("%d Pods, %v", len(pods), err)
			}
			state := pods[0].Status.ContainerStatuses[0].State.Terminated
			exits := exitsOf(namespace, pods[0].Name)
			if state == nil || len(exits) != 1 || int(state.ExitCode) != exits[0].Code {
				t.Fatalf("state %v, exits %v", state, exits)
			}
			if code == "3" && (state.ExitCode != 3 || state.Reason != "Error" || !strings.Contains(state.Message, "the last line")) {
				t.Errorf("terminated: %v", state)
			}
			if code == "0" && (state.Reason != "Completed" || state.Message != "") {
				t.Errorf("terminated: %v", state)
			}
		})
	}
}
