package chart

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestAccountsAndFlowsOfTheirOwn: with ServiceAccounts of other names all goes
// on as ever, to the last hook, and the API server takes their requests into the
// level that the chart makes.
func TestAccountsAndFlowsOfTheirOwn(t *testing.T) {
	b := newBench(t)
	robot := &corev1.ServiceAccount{}
	robot.Namespace, robot.Name = namespace, "robot"
	if err := b.admin.Create(t.Context(), robot); err != nil {
		t.Fatal(err)
	}
	b.install("--set=controller.serviceAccount.create=false,controller.serviceAccount.name=robot,webhook.serviceAccount.name=guard",
		"--set=hooks.serviceAccount.uninstall=remover,flowControl.enabled=true")
	e := b.endpoint("hook", nil)
	b.set("certificates", "handlers:\n- {id: myapp, causes: [Create, Delete], http: "+e.http()+"}\n")
	all := b.certificates("a", 5)
	b.await("Succeeded", all...)
	b.checks("refuses a wrong set", "stamps", "resources", "leader", "controller", "webhook")

	for flow, level := range map[string]string{"dogear": "dogear", "dogear-lease": "leader-election"} {
		b.eventually(func() error {
			n, err := b.cp.Metric(t.Context(), "apiserver_flowcontrol_dispatched_requests_total", map[string]string{"flow_schema": flow, "priority_level": level})
			if err == nil && n == 0 {
				err = fmt.Errorf("no request went by %s into the level %s", flow, level)
			}
			return err
		})
	}

	b.uninstall()
	for _, u := range all {
		if fresh, err := b.get(u); err != nil || holds(fresh) {
			t.Errorf("%s is held: %v", u.GetName(), err)
		}
	}
	if err := b.admin.Get(t.Context(), client.ObjectKeyFromObject(robot), robot); err != nil {
		t.Errorf("what somebody else has made is gone: %v", err)
	}
	if err := b.admin.Delete(t.Context(), robot); err != nil {
		t.Error(err)
	}
	b.leftNothing()
}
