// Command certificate is a complete operator for cert-manager's Certificates:
// one is provisioned as soon as somebody has approved it. It runs against
// KUBECONFIG.
package main

import (
	"context"
	"log"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
)

type status map[string]string

func provision(_ context.Context, req *handler.Request[*cmapi.Certificate]) (handler.Result, error) {
	if req.Object.Annotations["example.com/approved"] != "true" {
		return handler.Result{}, handler.Temporary("not approved", handler.After(30*time.Second), handler.Status(status{"phase": "Pending"}))
	}
	return handler.Result{Status: status{"phase": "Starting"}}, nil
}

func main() {
	ctrl.SetLogger(zap.New())
	op, err := controller.New(controller.Options{Domain: "certs.example.com"})
	if err != nil {
		log.Fatal(err)
	}
	handler.Register(op, handler.Spec{ID: "myapp", On: handler.Create | handler.Update}, provision)
	if err := op.Start(ctrl.SetupSignalHandler()); err != nil {
		log.Fatal(err)
	}
}
