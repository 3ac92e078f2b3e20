// Package demo holds the handlers that `dogear demo` runs: one of each sort.
// Read it as an example of an operator for two kinds that others own,
// cert-manager's Certificate and the Service of Kubernetes.
//
// Nothing outside of the process is called: where a real handler would ask a
// certificate authority or a DNS server, these count attempts and wait.
package demo

import "github.com/dogear-dev/dogear/controller/handler"

// Register declares the handlers, for the objects of one namespace. Handlers
// of one kind run in this order.
func Register(r handler.Registry, namespace string) {
	registerCertificates(r, []string{namespace})
	registerServices(r, []string{namespace})
}
