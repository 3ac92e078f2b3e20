package service

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/remote"
	"github.com/dogear-dev/dogear/storage"
)

// caller sends outcomes later, as an endpoint does that trusts the certificate
// in the Secret.
func (b *bench) caller() *http.Client {
	b.Helper()
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: b.namespace, Name: "dogear.dev-callback"}
	b.eventually(func() error { return b.admin.Get(b.Context(), key, secret) })
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(secret.Data["ca.crt"]) {
		b.Fatalf("no CA in %v", secret.Data)
	}
	return &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
}

// send posts an outcome, until somebody is there.
func (b *bench) send(caller *http.Client, url, uid, status string) (int, remote.Reply) {
	b.Helper()
	review := v1alpha1.HandlerReview{Response: &v1alpha1.HandlerReviewResponse{UID: uid, Outcome: v1alpha1.OutcomeSucceeded, Status: json.RawMessage(status)}}
	review.APIVersion, review.Kind = v1alpha1.GroupVersion.String(), "HandlerReview"
	body, err := json.Marshal(review)
	if err != nil {
		b.Fatal(err)
	}
	var answer remote.Reply
	code := 0
	b.eventually(func() error {
		request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := caller.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		if code = response.StatusCode; code == http.StatusConflict || code == http.StatusServiceUnavailable {
			return fmt.Errorf("to be sent again: %d", code)
		}
		return json.NewDecoder(response.Body).Decode(&answer)
	})
	return code, answer
}

func TestAnOutcomeComesLater(t *testing.T) {
	b := newBench(t)
	address := freeAddress(b)
	callbacks := func(o *setsOptions) {
		o.Settings.Callback.Address, o.Settings.Callback.URL = address, "https://"+address
	}
	r := b.start(callbacks)
	e := b.endpoint("hook", func(*v1alpha1.HandlerReviewRequest) *v1alpha1.HandlerReviewResponse {
		return &v1alpha1.HandlerReviewResponse{Outcome: v1alpha1.OutcomeWaiting, After: &v1alpha1.Duration{Duration: time.Hour}, Status: json.RawMessage(`{"phase":"Asked"}`)}
	})
	s := b.set("later", "certificates.v1.cert-manager.io", "handlers:\n- {id: h, causes: [Create, Update], http: "+e.http()+"}\n")
	b.awaitReady(s)
	caller := b.caller()
	first, second := b.certificate("first"), b.certificate("second")
	b.await(first, "Waiting")
	b.await(second, "Waiting")
	calls := map[string]*v1alpha1.HandlerReviewRequest{}
	for _, call := range e.awaitCalls(2) {
		calls[nameOf(call)] = call
		if call.Callback == nil || !strings.HasPrefix(call.Callback.URL, "https://"+address+"/callback/") || fmt.Sprint(call.Capabilities) != "[Callback]" {
			t.Fatalf("callback %+v", call.Callback)
		}
	}
	done := `{"phase":"Done"}`
	call := calls["first"]
	forged := strings.Replace(call.Callback.URL, call.Callback.Token[:4], "AAAA", 1)
	if code, answer := b.send(caller, forged, call.UID, done); code != http.StatusNotFound || answer.Reason != "UnknownToken" {
		t.Errorf("a forged token: %d %+v", code, answer)
	}
	if code, answer := b.send(caller, call.Callback.URL, calls["second"].UID, done); code != http.StatusBadRequest {
		t.Errorf("another uid: %d %+v", code, answer)
	}
	if code, answer := b.send(caller, call.Callback.URL, call.UID, done); code != http.StatusOK || answer.Reason != "Taken" {
		t.Errorf("the outcome: %d %+v", code, answer)
	}
	if u := b.await(first, "Succeeded"); u.GetAnnotations()[storage.ServicePrefix.Key(storage.KeyStatus)] != `{"later/h":{"phase":"Done"}}` {
		t.Errorf("annotations %v", u.GetAnnotations())
	}
	if code, answer := b.send(caller, call.Callback.URL, call.UID, done); code != http.StatusGone || answer.Reason != "Used" {
		t.Errorf("the second use: %d %+v", code, answer)
	}

	r.stop()
	b.start(callbacks)
	call = calls["second"]
	if code, answer := b.send(caller, call.Callback.URL, call.UID, done); code != http.StatusOK {
		t.Errorf("after a restart: %d %+v", code, answer)
	}
	b.await(second, "Succeeded")
	if code, answer := b.send(caller, calls["first"].Callback.URL, calls["first"].UID, done); code != http.StatusGone {
		t.Errorf("the second use after a restart: %d %+v", code, answer)
	}
	if len(e.calls()) != 2 {
		t.Errorf("calls %q", texts(e.calls()))
	}
	b.delete(second)
	b.eventually(func() error { return b.isGone(second.DeepCopy()) })
	if code, answer := b.send(caller, call.Callback.URL, call.UID, done); code != http.StatusNotFound && code != http.StatusGone {
		t.Errorf("an object that is gone: %d %+v", code, answer)
	}
}
