package migrate

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/dogear-dev/dogear/controller/installation"
)

const (
	// knownAfter is how long an API server may take to learn of a changed CRD.
	// One that publishes its version in another way than this release knows is
	// trusted after it.
	knownAfter = 30 * time.Second
	// lookEvery is the time between two looks at what it publishes.
	lookEvery = 200 * time.Millisecond
)

// awaitVersion waits until the API server stores objects in the version: right
// after a CRD was changed it may not know yet.
func (r *run) awaitVersion(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string) error {
	want := publishedHash(crd.Spec.Group, version, crd.Spec.Names.Kind)
	for began := time.Now(); time.Since(began) < knownAfter; {
		list, err := r.Discovery.ServerResourcesForGroupVersionWithContext(ctx, crd.Spec.Group+"/"+version)
		if err != nil {
			return fmt.Errorf("ask the API server for %s/%s: %w", crd.Spec.Group, version, err)
		}
		for i := range list.APIResources {
			if api := &list.APIResources[i]; api.Name == crd.Spec.Names.Plural && api.StorageVersionHash == want {
				return nil
			}
		}
		if !installation.Pause(ctx, lookEvery) {
			return fmt.Errorf("the API server does not know yet of version %s of %s", version, crd.Name)
		}
	}
	r.say("%s: the API server does not say that it stores version %s, and is trusted to do so", crd.Name, version)
	return nil
}

// publishedHash is by what discovery names the version in which a kind is stored.
func publishedHash(group, version, kind string) string {
	sum := sha256.Sum256([]byte(group + "/" + version + "/" + kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}
