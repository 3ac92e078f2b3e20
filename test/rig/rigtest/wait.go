package rigtest

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Client returns the administrator's client (rig.ControlPlane.Client).
func Client(t testing.TB) client.Client {
	t.Helper()
	admin, err := ControlPlane(t).Client()
	if err != nil {
		t.Fatal(err)
	}
	return admin
}

// Namespace makes a namespace for the test and returns its name. It stays: the
// whole control plane goes after the last test.
func Namespace(t testing.TB) string {
	t.Helper()
	prefix := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(t.Name()))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix[:min(len(prefix), 50)] + "-"}}
	if err := Client(t).Create(t.Context(), namespace); err != nil {
		t.Fatalf("make a namespace: %v", err)
	}
	return namespace.Name
}

// Eventually calls done every 25 ms until it returns nil, and fails the test
// at the timeout, with the last error. done gets no deadline of its own: give
// its requests t.Context or a shorter one.
func Eventually(t testing.TB, timeout time.Duration, done func() error) {
	t.Helper()
	deadline := time.After(timeout)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := done()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("not within %v: %v", timeout, err)
		case <-t.Context().Done():
			t.Fatalf("test ended while waiting: %v", err)
		case <-tick.C:
		}
	}
}
