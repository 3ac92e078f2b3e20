package demo

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/dogear-dev/dogear/controller"
	handlers "github.com/dogear-dev/dogear/examples/demo"
)

// OperatorOptions are what a process of the operator is told.
type OperatorOptions struct {
	// Role is "controller" or "webhook".
	Role string
	// Kubeconfig holds the token of the process's own ServiceAccount.
	Kubeconfig string
	// Name is Options.Name.
	Name string
	// Address is where the webhook listens, host:port.
	Address string
	// Metrics is where metrics are served, host:port.
	Metrics string
	// Log takes the log.
	Log logr.Logger
}

// RunOperator runs the controller or the webhook until ctx ends.
func RunOperator(ctx context.Context, o OperatorOptions) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig %q: %w", o.Kubeconfig, err)
	}
	names := Options{Name: o.Name}
	options := controller.Options{
		Domain: names.domain(), Namespace: names.system(), Config: config, Log: o.Log,
		GracePeriod: operatorGrace, MetricsAddress: o.Metrics,
		Webhook: &controller.Webhook{
			Address: o.Address, URL: "https://" + o.Address, LameDuck: -1,
			ControllerUsers: []string{accountUser(names.system(), controllerName)},
		},
	}
	switch o.Role {
	case controllerName:
		options.Roles = controller.RoleController
	case webhookName:
		options.Roles = controller.RoleWebhook
	default:
		return fmt.Errorf("--role is %q: want %q or %q", o.Role, controllerName, webhookName)
	}
	op, err := controller.New(options)
	if err != nil {
		return err
	}
	handlers.Register(op, names.objects())
	return op.Start(ctx)
}
