package storage

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkDigest(b *testing.B) {
	big := decode(b, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"big"},"data":{}}`)
	for i := range 64 {
		big["data"].(map[string]any)[fmt.Sprint("key", i)] = strings.Repeat("0123456789abcdef", 1024)
	}
	for _, c := range []struct {
		name   string
		object map[string]any
	}{
		{"certificate", decode(b, certificate)},
		{"service", decode(b, service)},
		{"1MiB", big},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Rules{}.Digest(c.object)
			}
		})
	}
}

func BenchmarkBirthDigest(b *testing.B) {
	object := decode(b, service)
	b.ReportAllocs()
	for b.Loop() {
		Rules{}.BirthDigest(object)
	}
}

func BenchmarkFieldsDigest(b *testing.B) {
	object := decode(b, certificate)
	fields := []Path{path(b, "spec.dnsNames"), path(b, "status.conditions")}
	b.ReportAllocs()
	for b.Loop() {
		Rules{}.FieldsDigest(object, fields)
	}
}

func BenchmarkRead(b *testing.B) {
	for name, annotations := range benchMarkers() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ServicePrefix.Read(annotations); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRender(b *testing.B) {
	for name, annotations := range benchMarkers() {
		b.Run(name, func(b *testing.B) {
			m, _ := ServicePrefix.Read(annotations)
			b.ReportAllocs()
			for b.Loop() {
				ServicePrefix.Render(m)
			}
		})
	}
}

func BenchmarkChanges(b *testing.B) {
	for name, annotations := range benchMarkers() {
		b.Run(name, func(b *testing.B) {
			old, _ := ServicePrefix.Read(annotations)
			object := Identity{UID: "6f1c7f0e-8a53-4a3e-9d0a-2c5f8f1f9b11"}
			next := old.WithRecord(object, "issue", Record{Cause: Update, State: Pending})
			b.ReportAllocs()
			for b.Loop() {
				ServicePrefix.Changes(annotations, old, next)
			}
		})
	}
}

func BenchmarkCompress(b *testing.B) {
	essence := Rules{}.Essence(decode(b, certificate))
	b.ReportAllocs()
	for b.Loop() {
		Compress(essence)
	}
}

func benchMarkers() map[string]map[string]string {
	return map[string]map[string]string{
		"settled": {
			"cert-manager.io/issuer-kind": "ClusterIssuer",
			"dogear.dev/state":            "Succeeded",
			"dogear.dev/handled":          `{"v":1,"uid":"6f1c7f0e-8a53-4a3e-9d0a-2c5f8f1f9b11","essence":"rS0Zk1Zb8yJ4oQ3v0aXW2g","generation":3,"by":{"issue":{},"notify":{"revision":2}}}`,
		},
		"progress": {
			"cert-manager.io/issuer-kind": "ClusterIssuer",
			"dogear.dev/state":            "Retrying",
			"dogear.dev/handled":          `{"v":1,"uid":"6f1c7f0e-8a53-4a3e-9d0a-2c5f8f1f9b11","essence":"rS0Zk1Zb8yJ4oQ3v0aXW2g","generation":3,"by":{"issue":{},"notify":{"revision":2}}}`,
			"dogear.dev/progress":         `{"v":1,"uid":"6f1c7f0e-8a53-4a3e-9d0a-2c5f8f1f9b11","handlers":{"issue":{"cause":"Update","state":"Succeeded","essence":"o1tH4hlQyzYQ0rTkq0YQ3A","attempts":1},"notify":{"cause":"Update","state":"Retrying","essence":"o1tH4hlQyzYQ0rTkq0YQ3A","attempts":3,"started":"2026-03-01T10:00:00Z","next":"2026-03-01T10:05:00.25Z","reason":"Temporary","message":"dial tcp 10.0.0.7:443: connect: connection refused","by":"alice@example.com"}}}`,
			"dogear.dev/status":           `{"issue":{"serial":"04:ae:55"}}`,
		},
	}
}
