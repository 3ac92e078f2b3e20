// Package rig runs a real Kubernetes control plane as plain processes on one
// machine: etcd, kube-apiserver and, on request, kube-controller-manager.
//
// No container engine and no kubelet are needed, and nothing listens beyond
// the loopback interface. The programs are those that `make controlplane` has
// put into bin/. Tests use the package through its sub-package rigtest; the
// package itself does not import testing, so that `dogear demo` can use it.
//
// Every process can be killed, paused and restarted on the same port and data.
// All of them end with this process, however it ends (on Linux).
package rig
