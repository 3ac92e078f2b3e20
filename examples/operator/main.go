// Command operator is an SDK operator with a handler of each sort, for two
// kinds that others own: cert-manager's Certificate and the Service of
// Kubernetes. `dogear demo` shows the same over HTTP. It runs against
// KUBECONFIG, on the objects of the namespace "demo".
//
// Nothing outside of the process is called: where a real handler would ask a
// certificate authority or a DNS server, these count attempts and wait.
package main

import (
	"log"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/dogear-dev/dogear/controller"
)

func main() {
	ctrl.SetLogger(zap.New())
	op, err := controller.New(controller.Options{Domain: "demo.example.com"})
	if err != nil {
		log.Fatal(err)
	}
	// Handlers of one kind run in this order.
	registerCertificates(op, []string{"demo"})
	registerServices(op, []string{"demo"})
	if err := op.Start(ctrl.SetupSignalHandler()); err != nil {
		log.Fatal(err)
	}
}
