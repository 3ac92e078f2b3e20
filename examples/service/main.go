// Command service is a complete operator for Services: each load balancer gets
// a DNS name as soon as it has an address, also in .status, which others write.
// It runs against KUBECONFIG.
package main

import (
	"context"
	"log"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
)

func dns(_ context.Context, req *handler.Request[*corev1.Service]) (handler.Result, error) {
	if len(req.Object.Status.LoadBalancer.Ingress) == 0 {
		return handler.Wait(time.Minute), nil // no attempt is used; an address comes before that
	}
	req.Patch.SetAnnotation("external-dns.alpha.kubernetes.io/hostname", req.Object.Name+".example.com")
	return handler.Result{Status: req.Object.Status.LoadBalancer.Ingress[0]}, nil
}

func main() {
	ctrl.SetLogger(zap.New())
	op, err := controller.New(controller.Options{Domain: "services.example.com"})
	if err != nil {
		log.Fatal(err)
	}
	balancers := handler.When(func(s *corev1.Service) bool { return s.Spec.Type == corev1.ServiceTypeLoadBalancer })
	handler.Register(op, handler.Spec{ID: "dns", On: handler.Create | handler.Update, Fields: []string{"status.loadBalancer"}}, dns, balancers)
	if err := op.Start(ctrl.SetupSignalHandler()); err != nil {
		log.Fatal(err)
	}
}
