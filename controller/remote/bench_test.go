package remote

import (
	"bytes"
	"io"
	"testing"

	"k8s.io/utils/clock"
)

// BenchmarkRun is one call on loopback over TLS, signed, with a payload in the
// answer. The endpoint runs in the same process: its share is in the figures;
// BenchmarkBare has the same calls by the standard library alone.
func BenchmarkRun(b *testing.B) {
	key, err := ParseKey(secretKey("a"))
	if err != nil {
		b.Fatal(err)
	}
	e := to(serve(b, answering(`{"uid":"UID","outcome":"Succeeded","status":{"phase":"Ready"}}`)))
	e.Keys = fixed([]Key{key})
	h := handlerOf(b, e, loopback())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Run(b.Context(), request()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBare(b *testing.B) {
	server := serve(b, answering(`{"uid":"UID","outcome":"Succeeded","status":{"phase":"Ready"}}`))
	h := handlerOf(b, to(server), loopback())
	body, _, err := h.review(b.Context(), request(), "uid-1")
	if err != nil {
		b.Fatal(err)
	}
	client := server.Client()
	b.ReportAllocs()
	for b.Loop() {
		response, err := client.Post(server.URL, "application/json", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
}

// BenchmarkReview is the making of a request, BenchmarkDecode the reading of an
// answer, BenchmarkGate a way through the gate.
func BenchmarkReview(b *testing.B) {
	h := handlerOf(b, Endpoint{URL: "https://hooks.example.com/"}, Shared{})
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := h.review(b.Context(), request(), "uid-1"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	body := []byte(callback("uid-1", `"outcome":"Retrying","message":"not ready","after":"30s","status":{"phase":"Pending"}`))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decode(body, "uid-1"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGate(b *testing.B) {
	g := NewGate(Limits{}, clock.RealClock{})
	b.ReportAllocs()
	for b.Loop() {
		enter(b, g).leave(answered, "")
	}
}
