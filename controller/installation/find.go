package installation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrNotFound says that nothing of the service is in the cluster. Objects may
// still carry what it has left.
var ErrNotFound = errors.New("no Dogear in the cluster: no Deployment has the label " + ComponentLabel +
	", and there is neither a ConfigMap nor a Lease " + Name)

// Find finds the service in a namespace, or, where that is empty, in the
// cluster: where its Deployments are, else where its ledger is, else its Lease.
// In a given namespace nothing need be there, see [Installation.Empty]. Where
// several namespaces come into question, the error lists them.
func Find(ctx context.Context, reader client.Reader, namespace string) (*Installation, error) {
	if namespace == "" {
		var err error
		if namespace, err = findNamespace(ctx, reader); err != nil {
			return nil, err
		}
	}
	found := &Installation{Namespace: namespace}
	deployments := &appsv1.DeploymentList{}
	if err := reader.List(ctx, deployments, client.InNamespace(namespace), client.HasLabels{ComponentLabel}); err != nil {
		return nil, fmt.Errorf("list the Deployments in namespace %q: %w", namespace, err)
	}
	found.Deployments = deployments.Items
	slices.SortFunc(found.Deployments, func(a, b appsv1.Deployment) int { return strings.Compare(a.Name, b.Name) })
	ledger := &corev1.ConfigMap{}
	switch err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: Name}, ledger); {
	case err == nil:
		found.Ledger = ledger
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("read the ConfigMap %s/%s: %w", namespace, Name, err)
	}
	return found, nil
}

// findNamespace looks for the traces of the service, the surest first.
func findNamespace(ctx context.Context, reader client.Reader) (string, error) {
	named := client.MatchingFields{"metadata.name": Name}
	for _, trace := range []struct {
		what   string
		list   client.ObjectList
		option client.ListOption
	}{
		{"Deployments", &appsv1.DeploymentList{}, client.HasLabels{ComponentLabel}},
		{"ConfigMaps " + Name, &corev1.ConfigMapList{}, named},
		{"Leases " + Name, &coordinationv1.LeaseList{}, named},
	} {
		if err := reader.List(ctx, trace.list, trace.option); apierrors.IsForbidden(err) {
			return "", fmt.Errorf("find Dogear: name its namespace with -n, as %s in all namespaces cannot be listed: %w", trace.what, err)
		} else if err != nil {
			return "", fmt.Errorf("list %s in all namespaces: %w", trace.what, err)
		}
		switch namespaces := namespacesOf(trace.list); len(namespaces) {
		case 0:
		case 1:
			return namespaces[0], nil
		default:
			return "", fmt.Errorf("%s of Dogear are in several namespaces: %s: name one with -n", trace.what, strings.Join(namespaces, ", "))
		}
	}
	return "", ErrNotFound
}

// namespacesOf lists the namespaces of the objects, each once.
func namespacesOf(list client.ObjectList) (namespaces []string) {
	switch list := list.(type) {
	case *appsv1.DeploymentList:
		for i := range list.Items {
			namespaces = append(namespaces, list.Items[i].Namespace)
		}
	case *corev1.ConfigMapList:
		for i := range list.Items {
			namespaces = append(namespaces, list.Items[i].Namespace)
		}
	case *coordinationv1.LeaseList:
		for i := range list.Items {
			namespaces = append(namespaces, list.Items[i].Namespace)
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}
