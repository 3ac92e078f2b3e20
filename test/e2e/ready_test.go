package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// A controller without a webhook is ready, too, also one that waits for its
// turn: else no Deployment of it would ever be rolled out.
func TestAControllerIsReadyWhetherOrNotItLeads(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	start := func() string {
		address, err := rig.FreeAddress()
		if err != nil {
			t.Fatal(err)
		}
		b.start(func(r handler.Registry) {
			handler.Register(r, handler.Spec{ID: "work", On: handler.Create, Kind: testKind("Widget"), Labels: "test=" + b.namespace},
				func(context.Context, *request) (handler.Result, error) { return handler.Result{}, nil })
		}, func(o *controller.Options) { o.LeaderElection, o.HealthAddress = true, address })
		return address
	}
	for _, address := range []string{start(), start()} {
		rigtest.Eventually(t, settle, func() error {
			var errs []error
			for _, path := range []string{"/healthz", "/readyz"} {
				response, err := http.Get("http://" + address + path)
				if err != nil {
					return err
				}
				text, _ := io.ReadAll(response.Body)
				response.Body.Close()
				if response.StatusCode != http.StatusOK {
					errs = append(errs, fmt.Errorf("%s: %s %s", path, response.Status, text))
				}
			}
			return errors.Join(errs...)
		})
	}
}
