package installation_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	corev1 "k8s.io/api/core/v1"

	"github.com/dogear-dev/dogear/controller/installation"
)

// silent is a server that takes connections, and never answers.
func silent(t *testing.T) (host string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	return "http://" + listener.Addr().String()
}

// The mapper of a client asks for resources without the context of the request.
func TestRequestsEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("time is over"))
	defer cancel()
	config := &rest.Config{Host: silent(t)}
	c, err := installation.Connect(installation.Until(ctx, config), scheme.Scheme)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- c.Client.List(t.Context(), &corev1.PodList{}) }() //nolint:usetesting // the other context is what is tested
	select {
	case err = <-done:
	case <-time.After(30 * time.Second): // half of what a request may take
		t.Fatal("it goes on")
	}
	err = installation.Unreached(config.Host, err)
	for _, want := range []string{config.Host + " does not answer (", "see whether 'kubectl get --raw /readyz' answers"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestErrorsOfWhoIsReached(t *testing.T) {
	if err := installation.Unreached("https://a", apierrors.NewUnauthorized("no")); !strings.HasPrefix(err.Error(), "https://a does not know who you are: renew") {
		t.Error(err)
	}
	for _, err := range []error{apierrors.NewBadRequest("wrong"), http.ErrBodyNotAllowed, nil} {
		if have := installation.Unreached("https://a", err); !errors.Is(have, err) {
			t.Errorf("%v became %v", err, have)
		}
	}
}
