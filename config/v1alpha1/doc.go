// Package v1alpha1 has the API of the service: the kinds ClusterHandlerSet and
// HandlerSet, which declare handlers and defaults for a resource, and
// HandlerReview, which an endpoint is sent and answers.
//
// +kubebuilder:object:generate=true
// +groupName=dogear.dev
package v1alpha1

//go:generate go tool -modfile=../../.ci/tools/go.mod controller-gen object crd:ignoreUnexportedFields=true paths=. output:crd:dir=../../charts/dogear/files/crds
//go:generate go tool -modfile=../../.ci/tools/go.mod controller-gen crd:ignoreUnexportedFields=true paths=. output:crd:dir=../../charts/dogear-crds/files/crds
//go:generate go run ./internal/reference . ../../docs/handlersets.md

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "dogear.dev", Version: "v1alpha1"}

// AddToScheme adds ClusterHandlerSet and HandlerSet to a scheme.
// HandlerReview is no object of the API server and stays out.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ClusterHandlerSet{}, &ClusterHandlerSetList{}, &HandlerSet{}, &HandlerSetList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
