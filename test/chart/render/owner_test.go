package render

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// TestCRDsGoOverToTheirOwnChart, with all sets: the service's chart leaves them,
// and the other one takes them over where it is told to.
func TestCRDsGoOverToTheirOwnChart(t *testing.T) {
	cp, admin := rigtest.ControlPlane(t), rigtest.Client(t)
	run := func(args ...string) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := cp.Helm(ctx, append(args, "--namespace", "owner")...)
		return err
	}
	must := func(args ...string) {
		t.Helper()
		if err := run(args...); err != nil {
			t.Fatal(err)
		}
	}
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	crd.SetName("handlersets.dogear.dev")
	uid := func() string {
		t.Helper()
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(crd), crd); err != nil {
			t.Fatal(err)
		}
		return string(crd.GetUID())
	}

	must("install", release, chart(t, "dogear"), "--create-namespace", "--set", "webhook.replicas=0,controller.replicas=0")
	before := uid()
	must("upgrade", release, chart(t, "dogear"), "--reuse-values", "--set", "crds.enabled=false")
	if err := run("install", "crds", chart(t, "dogear-crds")); err == nil || !strings.Contains(err.Error(), "invalid ownership metadata") {
		t.Errorf("they are somebody else's: %v", err)
	}
	must("install", "crds", chart(t, "dogear-crds"), "--take-ownership")
	if after := uid(); after != before || crd.GetAnnotations()["meta.helm.sh/release-name"] != "crds" {
		t.Errorf("the CRD %s is %s now, with %v", before, after, crd.GetAnnotations())
	}
	must("uninstall", release, "--no-hooks")
	must("uninstall", "crds")
	if after := uid(); after != before {
		t.Errorf("the CRD %s is %s after all", before, after)
	}

	for _, name := range []string{"handlersets.dogear.dev", "clusterhandlersets.dogear.dev"} {
		gone := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}}
		gone.Name = name
		if err := admin.Delete(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		rigtest.Eventually(t, time.Minute, func() error {
			err := admin.Get(t.Context(), client.ObjectKeyFromObject(gone), gone)
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(err, errors.New(name+" is still there"))
		})
	}
}
