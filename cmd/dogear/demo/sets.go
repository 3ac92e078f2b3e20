package demo

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// declarations are what the demo applies, as users would.
//
//go:embed sets/*.yaml
var declarations embed.FS

// applySets declares what to do, and waits until it is in force.
func (d *demo) applySets(ctx context.Context) (string, error) {
	entries, err := declarations.ReadDir("sets")
	if err != nil {
		return "", err
	}
	var sets []*v1alpha1.ClusterHandlerSet
	for _, entry := range entries {
		text, err := declarations.ReadFile("sets/" + entry.Name())
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(d.dir, entry.Name()), text, 0o600); err != nil {
			return "", err
		}
		set := &v1alpha1.ClusterHandlerSet{}
		if err := yaml.UnmarshalStrict(text, set); err != nil {
			return "", fmt.Errorf("decode %s: %w", entry.Name(), err)
		}
		if err := d.admin.Create(ctx, set); err != nil {
			return "", fmt.Errorf("apply %s: %w", entry.Name(), err)
		}
		sets = append(sets, set)
	}
	for _, set := range sets {
		if err := d.awaitReady(ctx, set); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d ClusterHandlerSets are in force, without a restart", len(sets)), nil
}

func (d *demo) awaitReady(ctx context.Context, set *v1alpha1.ClusterHandlerSet) error {
	for {
		err := d.admin.Get(ctx, client.ObjectKeyFromObject(set), set)
		ready := meta.FindStatusCondition(set.Status.Conditions, v1alpha1.ConditionReady)
		if err == nil && ready != nil && ready.Status == metav1.ConditionTrue {
			return nil
		}
		if end := sleep(ctx, pollPause); end != nil {
			text := "it has no status yet"
			if ready != nil {
				text = ready.Message
			}
			return fmt.Errorf("%w; ClusterHandlerSet %s: %s", end, set.Name, text)
		}
	}
}
