// Command pvc is a complete operator for PersistentVolumeClaims: none is
// deleted before a backup of it has been made. It runs against KUBECONFIG.
package main

import (
	"context"
	"log"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
)

func backup(_ context.Context, req *handler.Request[*corev1.PersistentVolumeClaim]) (handler.Result, error) {
	if made, ok := req.Object.Annotations["example.com/backup"]; !ok {
		return handler.Result{}, handler.Temporary("there is no backup", handler.Reason("NoBackup"), handler.After(5*time.Second))
	} else if _, err := time.Parse(time.RFC3339, made); err != nil {
		return handler.Result{}, handler.Permanent("example.com/backup is no time", handler.Because(err))
	}
	return handler.Result{}, nil
}

func main() {
	ctrl.SetLogger(zap.New())
	op, err := controller.New(controller.Options{Domain: "volumes.example.com"})
	if err != nil {
		log.Fatal(err)
	}
	handler.Register(op, handler.Spec{ID: "backup", On: handler.Delete}, backup)
	if err := op.Start(ctrl.SetupSignalHandler()); err != nil {
		log.Fatal(err)
	}
}
