// Command go is an endpoint of Dogear in Go.
//
// CERT_DIR has tls.crt and tls.key; KEY_DIR has the entries of the signing
// Secret: key and, while keys are changed, previous. Both may be mounted
// Secrets: what is new in them is taken without a restart.
package main

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

var taken sync.Map // uid of an object: idempotencyID of the state of it that was last taken in

// handle is to be replaced by what you have to do. Its result needs no UID.
func handle(request *v1alpha1.HandlerReviewRequest, object *cmapi.Certificate) *v1alpha1.HandlerReviewResponse {
	if request.Cause == v1alpha1.CauseDelete {
		taken.Delete(object.UID) // calls may come again: what is gone already is no error
		return &v1alpha1.HandlerReviewResponse{Outcome: v1alpha1.OutcomeSucceeded}
	}
	if last, _ := taken.Swap(object.UID, request.IdempotencyID); last != request.IdempotencyID {
		// What must begin only once begins here.
		return &v1alpha1.HandlerReviewResponse{
			Outcome: v1alpha1.OutcomeRetrying, Reason: "Starting", Message: "not up yet",
			Status: json.RawMessage(`{"phase":"Pending"}`),
		}
	}
	status, _ := json.Marshal(map[string]any{"phase": "Ready", "names": append([]string{}, object.Spec.DNSNames...)})
	return &v1alpha1.HandlerReviewResponse{Outcome: v1alpha1.OutcomeSucceeded, Status: status}
}

// verify tells whether Dogear has sent this, or that there is no good key.
func verify(header http.Header, body []byte) (bool, error) {
	for _, name := range []string{"key", "previous"} {
		text, err := os.ReadFile(filepath.Join(setting("KEY_DIR", "signing"), name))
		if name == "previous" && errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return false, err
		}
		secret := strings.TrimSpace(string(text))
		if len(secret) < len("whsec_")+32 { // 24 bytes in base64
			return false, errors.New("want keys of 24 bytes at least")
		}
		key, err := webhooks.NewWebhook(secret)
		if err != nil {
			return false, err
		}
		if key.Verify(body, header) == nil {
			return true, nil
		}
	}
	return false, nil
}

// answer returns a status and, with 200, a HandlerReview.
func answer(header http.Header, body []byte) (int, *v1alpha1.HandlerReview) {
	switch ours, err := verify(header, body); {
	case err != nil:
		log.Print(err)
		return http.StatusInternalServerError, nil
	case !ours:
		return http.StatusUnauthorized, nil
	}
	review, object := &v1alpha1.HandlerReview{}, &cmapi.Certificate{}
	if json.Unmarshal(body, review) != nil || review.Request == nil || json.Unmarshal(review.Request.Object, object) != nil {
		return http.StatusBadRequest, nil
	}
	response := handle(review.Request, object)
	response.UID = review.Request.UID
	log.Printf("%s %s: %s", review.Request.Cause, object.Name, response.Outcome)
	return http.StatusOK, &v1alpha1.HandlerReview{TypeMeta: review.TypeMeta, Response: response}
}

func serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20))
	if err != nil {
		http.Error(w, "the body is too long, or did not arrive", http.StatusBadRequest)
		return
	}
	status, review := answer(r.Header, body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if review != nil {
		_ = json.NewEncoder(w).Encode(review) // who has gone calls again
	}
}

func certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	dir := setting("CERT_DIR", "tls")
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	return &pair, err
}

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func main() {
	log.SetFlags(0)
	log.SetOutput(os.Stdout)
	http.HandleFunc("POST /", serve)
	server := &http.Server{
		Addr:        net.JoinHostPort(os.Getenv("ADDRESS"), setting("PORT", "8443")),
		ReadTimeout: time.Minute, WriteTimeout: time.Minute,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate},
	}
	log.Fatal(server.ListenAndServeTLS("", ""))
}
