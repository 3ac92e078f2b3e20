package subject

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// endpoint is what handlers over HTTP are: https with HTTP/1.1, whose
// connections are kept. It does as little as an endpoint can, for it shares the
// machine with what is measured; signatures are not verified.
func endpoint(s settings) (program, error) {
	pair, err := tls.LoadX509KeyPair(s.certificate+".crt", s.certificate+".key")
	if err != nil {
		return program{}, err
	}
	var calls atomic.Int64
	serve := func(ctx context.Context) error {
		ended := make(chan error, 2)
		for _, at := range []struct {
			address string
			handle  http.HandlerFunc
		}{{s.address, answer}, {s.dead, never}} {
			listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at.address)
			if err != nil {
				return err
			}
			server := &http.Server{
				ReadHeaderTimeout: time.Minute,
				TLSConfig:         &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS13},
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					calls.Add(1)
					at.handle(w, r)
				}),
			}
			defer func() { _ = server.Close() }()
			go func() { ended <- server.ServeTLS(listener, "", "") }()
		}
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return nil
		}
	}
	return program{start: serve, look: func() Answer { return Answer{Calls: calls.Load()} }}, nil
}

// AnswerPath is the path of an endpoint that answers with a temporary error
// until that attempt.
func AnswerPath(attempts int, delay time.Duration) string {
	return fmt.Sprintf("/%d/%s", attempts, delay)
}

// review is what the endpoint reads of a request.
type review struct {
	Request struct {
		UID     string `json:"uid"`
		Attempt int    `json:"attempt"`
	} `json:"request"`
}

// answer ends the call as its path says.
func answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var in review
	if err = errors.Join(err, json.Unmarshal(body, &in)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	first, after, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	outcome := fmt.Sprintf(`"outcome":%q`, v1alpha1.OutcomeSucceeded)
	var attempts int
	if _, err := fmt.Sscan(first, &attempts); err == nil && in.Request.Attempt < attempts {
		outcome = fmt.Sprintf(`"outcome":%q,"after":%q,"message":"not yet"`, v1alpha1.OutcomeRetrying, after)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"apiVersion":%q,"kind":%q,"response":{"uid":%q,%s}}`,
		v1alpha1.GroupVersion, v1alpha1.HandlerReviewKind, in.Request.UID, outcome)
}

// never takes the request and keeps the caller waiting.
func never(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // only then it is seen that the caller has gone
	<-r.Context().Done()
}
